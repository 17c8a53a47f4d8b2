import { SpanKind, type Link, type SpanContext, type Tracer } from '@opentelemetry/api';
import type { ClaimedPartition } from '../pop/claim.js';
import type { HandOver } from '../pop/hand-over.js';
import type { PopService } from '../pop/pop.service.js';
import { SegmentDamagedError } from '../segment/segment-damaged.error.js';
import { decodeSegment } from '../segment/segment.js';
import { ATTRIBUTE, SYSTEM } from './attributes.js';
import { inSpan, requestSpan } from './in-span.js';
import { traceOf } from './message-context.js';

/** Pushes that one pop is linked to; a batch of thousands would make a span nobody can load. */
const LINKS_MAX = 32;

/** A span for each pop, linked to the pushes whose messages it delivers. */
export function tracePops(pops: PopService, handOver: HandOver, tracer: Tracer): void {
  const serve = pops.serve.bind(pops);
  pops.serve = (request, gone) => {
    const attributes = {
      [ATTRIBUTE.system]: SYSTEM,
      [ATTRIBUTE.operation]: 'pop',
      [ATTRIBUTE.operationType]: 'receive',
      [ATTRIBUTE.group]: request.group,
      ...(request.queue === '' ? {} : { [ATTRIBUTE.destination]: request.queue }),
      ...(request.scope === 'partition' ? { [ATTRIBUTE.partition]: request.partition } : {}),
    };
    return inSpan(tracer, 'pop', { kind: SpanKind.SERVER, attributes }, async (span) => {
      const delivery = await serve(request, gone);
      span.setAttribute(ATTRIBUTE.messages, delivery.count);
      return delivery;
    });
  };

  const of = handOver.of.bind(handOver);
  handOver.of = (request, claimed) => {
    requestSpan()?.addLinks(linksOf(claimed));
    return of(request, claimed);
  };
}

function linksOf(claimed: readonly ClaimedPartition[]): Link[] {
  const links = new Map<string, Link>();
  for (const origin of originsOf(claimed)) {
    links.set(`${origin.traceId} ${origin.spanId}`, { context: origin });
    if (links.size === LINKS_MAX) break;
  }
  return [...links.values()];
}

/** The traces that the claimed messages name, in their order. */
function* originsOf(claimed: readonly ClaimedPartition[]): Generator<SpanContext> {
  for (const { segments } of claimed) {
    for (const { blob, messageCount, startIdx, take } of segments) {
      try {
        for (const { headers } of decodeSegment(blob, messageCount).frames(startIdx, take)) {
          const origin = headers && traceOf(headers);
          if (origin) yield origin;
        }
      } catch (error) {
        if (!(error instanceof SegmentDamagedError)) throw error; // the hand-over is about to report it
      }
    }
  }
}
