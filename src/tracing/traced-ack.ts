import { SpanKind, type Tracer } from '@opentelemetry/api';
import type { AckService } from '../ack/ack.service.js';
import { ATTRIBUTE, SYSTEM } from './attributes.js';
import { inSpan } from './in-span.js';

/** A span for each ack request. */
export function traceAcks(acks: AckService, tracer: Tracer): void {
  const acknowledge = acks.acknowledge.bind(acks);
  acks.acknowledge = (request, owner) => {
    const attributes = {
      [ATTRIBUTE.system]: SYSTEM,
      [ATTRIBUTE.operation]: 'ack',
      [ATTRIBUTE.operationType]: 'settle',
      [ATTRIBUTE.group]: request.group,
      [ATTRIBUTE.messages]: request.items.length,
    };
    return inSpan(tracer, 'ack', { kind: SpanKind.SERVER, attributes }, () => acknowledge(request, owner));
  };
}
