import { SpanKind, type Tracer } from '@opentelemetry/api';
import { MAX_HEADERS_BYTES, type PushItem } from '../push/push-item.js';
import type { PushService } from '../push/push.service.js';
import type { TransactionService } from '../transaction/transaction.service.js';
import { ATTRIBUTE, SYSTEM } from './attributes.js';
import { inSpan } from './in-span.js';
import { activeTraceMembers, withTrace } from './message-context.js';

const LIMITS = { headerBytesMax: MAX_HEADERS_BYTES };

/** A span for each push. Its trace goes into the headers of the messages, when it is one that is recorded. */
export function tracePushes(pushes: PushService, tracer: Tracer): void {
  const push = pushes.push.bind(pushes);
  pushes.push = (request, origin) =>
    inSpan(tracer, 'push', options('push', request.items), async (span) => {
      if (!span.isRecording()) return push(request, origin);
      const members = activeTraceMembers();
      return push({ items: request.items.map((item) => carrying(item, members)) }, origin);
    });
}

/** The same for the messages that a transaction pushes. */
export function traceTransactions(transactions: TransactionService, tracer: Tracer): void {
  const run = transactions.run.bind(transactions);
  transactions.run = (request, origin) => {
    const items = request.operations.flatMap((operation) =>
      operation.kind === 'push' ? [operation.item] : [],
    );
    return inSpan(tracer, 'transaction', options('transaction', items), async (span) => {
      if (!span.isRecording()) return run(request, origin);
      const members = activeTraceMembers();
      const operations = request.operations.map((operation) =>
        operation.kind === 'push' ? { ...operation, item: carrying(operation.item, members) } : operation,
      );
      return run({ ...request, operations }, origin);
    });
  };
}

function options(operation: string, items: readonly PushItem[]) {
  const queue =
    items.length > 0 && items.every((item) => item.queue === items[0].queue) ? items[0].queue : null;
  return {
    kind: SpanKind.SERVER,
    attributes: {
      [ATTRIBUTE.system]: SYSTEM,
      [ATTRIBUTE.operation]: operation,
      [ATTRIBUTE.operationType]: 'send',
      [ATTRIBUTE.messages]: items.length,
      ...(queue === null ? {} : { [ATTRIBUTE.destination]: queue }),
    },
  };
}

function carrying(item: PushItem, members: string): PushItem {
  if (item.problem) return item;
  const headers = withTrace(item.headers, members, LIMITS);
  return headers === item.headers ? item : { ...item, headers };
}
