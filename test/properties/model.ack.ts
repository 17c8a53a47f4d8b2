import { Fresh } from './moment.js';
import {
  clearAttempts,
  hashed,
  known,
  releaseLease,
  type Cursor,
  type Model,
  type ModelPartition,
} from './broker.model.js';
import { hashTransactionId } from '../../src/segment/transaction-hash.js';

export interface AckItem {
  text: string;
  status: string | null;
}

type Result = Record<string, unknown>;

const DONE = ['', 'completed', 'success', 'acked', 'ok'];
/** In the order in which they win at one offset. */
const SIGNALS = ['dlq', 'failed', 'retry'];

const refused = (error: string) => ({ ok: false, error });

function findCursor(partition: ModelPartition | undefined, group: string): Cursor | undefined {
  return partition?.cursors.get(group);
}

/** I34: whoever names a worker must hold the live lease; whoever names none is not checked. */
function mayAct(model: Model, cursor: Cursor, worker: string): boolean {
  return worker === '' || (cursor.worker === worker && model.isLeased(cursor));
}

/** Acks by transactionId (storage rule 5.12). */
export function ackByHash(
  model: Model,
  partition: ModelPartition | undefined,
  group: string,
  worker: string,
  items: readonly AckItem[],
): Result {
  const cursor = findCursor(partition, group);
  if (!partition || !cursor) return refused('consumer not found');
  if (!mayAct(model, cursor, worker)) return refused('invalid or expired lease');

  const leased = cursor.batchEnd !== null;
  const known = hashed(partition);
  const resolved = items.map(({ text, status }) => {
    const offsets = known.filter((message) => message.text === text).map(({ offset }) => offset);
    const inReach = offsets.filter((offset) => offset > cursor.committed);
    return {
      hex: hashTransactionId(text).toString('hex'),
      done: DONE.includes(status ?? ''),
      signal: SIGNALS.includes(status ?? '') ? (status as string) : null,
      offset: inReach.find((offset) => !leased || offset <= cursor.batchEnd!),
      below: offsets.some((offset) => offset <= cursor.committed),
    };
  });

  const head = resolved
    .filter(({ signal, offset }) => signal !== null && offset !== undefined)
    .sort((a, b) => a.offset! - b.offset! || SIGNALS.indexOf(a.signal!) - SIGNALS.indexOf(b.signal!))
    .at(0);
  const done = resolved.filter(
    ({ done, offset }) => done && offset !== undefined && (!head || offset < head.offset!),
  );
  const reached = Math.max(cursor.committed, ...done.map(({ offset }) => offset!));
  const delta = reached - cursor.committed;
  const lists = {
    noopHashes: resolved.filter((r) => r.done && r.offset === undefined && r.below).map(({ hex }) => hex),
    staleHashes: resolved.filter((r) => r.signal && r.offset === undefined && r.below).map(({ hex }) => hex),
    unresolvedHashes: resolved.filter((r) => r.offset === undefined && !r.below).map(({ hex }) => hex),
  };
  cursor.committed = reached;
  cursor.totalConsumed += delta;
  const answer = { ok: true, acked: delta, off: reached, ...lists };
  if (!leased) return answer;
  if (!head) {
    if (reached >= cursor.batchEnd!) {
      clearAttempts(cursor);
      releaseLease(cursor);
    }
    return answer;
  }
  return actOnSignal(partition, cursor, head.signal!, head.offset!, { group, worker, answer });
}

/** I35: only a failure within the budget is charged, and once per call. */
function actOnSignal(
  { id, queue: { settings } }: ModelPartition,
  cursor: Cursor,
  signal: string,
  offset: number,
  { group, worker, answer }: { group: string; worker: string; answer: Result },
): Result {
  const spent = signal === 'failed' && cursor.retryCount >= settings.retryLimit;
  if (signal === 'dlq' || (spent && (settings.deadLetterQueue || settings.dlqAfterMaxRetries))) {
    return { ...answer, off: offset, dlq: true, partitionId: id, group, worker };
  }
  releaseLease(cursor);
  if (spent) {
    cursor.committed = offset;
    cursor.totalConsumed += 1;
    cursor.retryCount = 0;
    return { ...answer, off: offset, dropped: true };
  }
  if (signal === 'failed') cursor.retryCount += 1;
  return answer;
}

export interface Move {
  group: string;
  worker: string;
  upto: number | null;
  ok: boolean;
  count: number;
}

/** Positional acks (storage rule 5.11, with Q2 and Q3 adopted). */
export function ackAt(
  model: Model,
  partition: ModelPartition | undefined,
  { group, worker, upto, ok, count }: Move,
): Result {
  const cursor = findCursor(partition, group);
  if (!cursor) return refused('consumer not found');
  if (!mayAct(model, cursor, worker)) return refused('invalid or expired lease');
  if (upto === null || !ok) {
    releaseLease(cursor);
    return { ok: true, acked: 0 };
  }
  if (cursor.batchEnd === null) return refused('no leased batch');
  if (upto > cursor.batchEnd) return refused('position beyond leased batch');
  if (upto === cursor.batchEnd) clearAttempts(cursor);
  cursor.committed = Math.max(cursor.committed, upto);
  cursor.totalConsumed += count;
  releaseLease(cursor);
  return { ok: true, acked: count };
}

export interface PutAside {
  group: string;
  worker: string;
  offset: number;
  text: string;
  payload: string;
  error: string;
}

/** I36: one dead letter per hand-over, and the cursor past it in the same step. */
export function putAside(
  model: Model,
  partition: ModelPartition | undefined,
  { group, worker, offset, text, payload, error }: PutAside,
): Result {
  const cursor = findCursor(partition, group);
  if (!partition || !cursor) return refused('consumer not found');
  if (!mayAct(model, cursor, worker)) return refused('invalid or expired lease');
  if (offset <= cursor.committed) return refused('already committed');
  if (cursor.batchEnd !== null && offset > cursor.batchEnd) return refused('position beyond leased batch');
  const { retryCount } = cursor;
  model.deadLetters.push({ partitionId: partition.id, group, offset, text, payload, error, retryCount });
  cursor.committed = offset;
  cursor.totalConsumed += 1;
  clearAttempts(cursor);
  releaseLease(cursor);
  return { ok: true };
}

/** I33: a live lease of the worker gets at least so many seconds from now. Gives the cursors that were renewed. */
export function renew(
  model: Model,
  worker: string,
  seconds: number | null,
  partitionIds: readonly string[] | null,
  tenant: string | null,
): Cursor[] {
  const renewed = model
    .partitions()
    .filter(({ id }) => partitionIds === null || partitionIds.includes(id))
    .filter(({ queue }) => tenant === null || queue.tenant === tenant)
    .flatMap(({ cursors }) => [...cursors.values()])
    .filter((cursor) => cursor.worker === worker && model.isLeased(cursor));
  for (const cursor of renewed) {
    cursor.expiresAt = new Fresh(Math.max(seconds ?? 60, 1), known(cursor.expiresAt!));
  }
  return renewed;
}
