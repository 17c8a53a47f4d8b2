import { expect } from '@jest/globals';
import fc from 'fast-check';
import { ackAtCall, ackByHashCall, ackMultiCall, scalar } from '../support/make.js';
import type { Cursor, Model, ModelPartition } from './broker.model.js';
import { ackAt, ackByHash, type AckItem } from './model.ack.js';
import { Step, type Real, type Target } from './step.js';
import { found, tellWho, textAt, Verdict, who, type Who } from './who.js';

/** A message: the n-th of the leased batch, or one by its distance from the cursor, or one that never was. */
type MessageChoice = { inBatch: number } | { ahead: number } | 'unknown';
type ItemChoice = { message: MessageChoice; status: string | null };

function textOf(
  partition: ModelPartition | undefined,
  cursor: Cursor | undefined,
  message: MessageChoice,
): string {
  if (message === 'unknown') return 'never pushed';
  if ('ahead' in message) return textAt(partition, (cursor?.committed ?? -1) + message.ahead);
  const size = cursor?.batchEnd == null ? 5 : Math.max(cursor.batchEnd - cursor.committed, 1);
  return textAt(partition, (cursor?.committed ?? -1) + 1 + (message.inBatch % size));
}

const tellMessage = (message: MessageChoice) =>
  message === 'unknown' ? message : 'ahead' in message ? `+${message.ahead}` : `#${message.inBatch}`;

class AckByHash extends Verdict {
  constructor(
    who: Who,
    private readonly items: ItemChoice[],
    private readonly withStatuses: boolean,
  ) {
    super(who);
  }

  protected async act(model: Model, real: Real): Promise<void> {
    const { partition, cursor, group: groupName, id, worker } = found(model, this.who);
    const items: AckItem[] = this.items.map(({ message, status }) => ({
      text: textOf(partition, cursor, message),
      status: this.withStatuses ? status : null,
    }));
    const texts = items.map(({ text }) => text);
    const statuses = this.withStatuses ? items.map(({ status }) => status) : null;
    const call = ackByHashCall(id, texts, statuses, { group: groupName, worker });
    const actual = await scalar<Record<string, unknown>>(real.session, call);
    this.expectResult(actual, ackByHash(model, partition, groupName, worker, items));
  }

  toString(): string {
    const items = this.items.map(
      ({ message, status }) => `${tellMessage(message)}:${this.withStatuses ? status : '-'}`,
    );
    return `ack ${tellWho(this.who)} [${items.join(' ')}]`;
  }
}

/** A position: so many messages past the cursor, the end of the batch give or take some, or none. */
type Position = { ahead: number } | { fromEnd: number } | null;

function uptoOf(cursor: Cursor | undefined, position: Position): number | null {
  if (position === null) return null;
  if ('ahead' in position) return (cursor?.committed ?? -1) + position.ahead;
  return (cursor?.batchEnd ?? 0) + position.fromEnd;
}

const tellPosition = (position: Position) =>
  position === null
    ? 'nowhere'
    : 'ahead' in position
      ? `cursor + ${position.ahead}`
      : `end + ${position.fromEnd}`;

class AckAt extends Verdict {
  constructor(
    who: Who,
    private readonly position: Position,
    private readonly ok: boolean,
    private readonly byName: boolean,
  ) {
    super(who);
  }

  protected async act(model: Model, real: Real): Promise<void> {
    const { partition, cursor, group: groupName, id, worker, queue, name } = found(model, this.who);
    const upto = uptoOf(cursor, this.position);
    const count = Math.max(0, (upto ?? 0) - (cursor?.committed ?? 0));
    const move = { group: groupName, worker, upto, ok: this.ok, count };
    if (this.byName) {
      const actual = await scalar<Record<string, unknown>>(real.session, [
        'select queen.log_ack_v1($1, $2, $3, $4, $5, $6, $7, $8)',
        [queue.name, name, groupName, worker, upto, this.ok, count, queue.tenant],
      ]);
      const missing = { ok: false, error: 'partition not found' };
      this.expectResult(actual, partition ? ackAt(model, partition, move) : missing);
      return;
    }
    const actual = await scalar<Record<string, unknown>>(real.session, ackAtCall(id, upto, move));
    this.expectResult(actual, ackAt(model, partition, move));
  }

  toString(): string {
    const { ok, byName } = this;
    return `${ok ? 'ack' : 'nack'}${byName ? ' by name' : ''} ${tellWho(this.who)} up to ${tellPosition(this.position)}`;
  }
}

class AckMany extends Step {
  constructor(private readonly moves: { who: Who; position: Position }[]) {
    super();
  }

  override check(model: Readonly<Model>): boolean {
    return this.moves.some(({ who }) => found(model as Model, who).cursor !== undefined);
  }

  protected async act(model: Model, real: Real): Promise<void> {
    const moves = this.moves.map(({ who, position }) => {
      const { partition, cursor, group: groupName, id, worker } = found(model, who);
      const upto = uptoOf(cursor, position);
      return { partition, id, group: groupName, worker, upto, ok: true, count: 1 };
    });
    const rows = moves.map(({ id, group: name, worker, upto, count }) => ({
      ...{ partitionId: id, group: name, worker, upto, count },
    }));
    const actual = await scalar(real.session, ackMultiCall(rows));
    // Rows of one cursor act in input order, and no row touches another cursor: so the order of cursors is free.
    const results = moves.map(({ partition, ...move }) => {
      if (move.upto === null) return { ok: false, acked: 0, error: 'position missing' };
      const result = ackAt(model, partition, move) as { ok: boolean; acked?: number; error?: string };
      return { ok: result.ok, acked: result.acked ?? 0, error: result.error ?? null };
    });
    expect(actual).toEqual({ ok: true, results });
  }

  toString(): string {
    const moves = this.moves.map(({ who, position }) => `${tellWho(who)} up to ${tellPosition(position)}`);
    return `ack together ${moves.join(', ')}`;
  }
}

const status = fc.oneof(
  { weight: 5, arbitrary: fc.constant('completed') },
  { weight: 5, arbitrary: fc.constantFrom('failed', 'failed', 'failed', 'retry', 'dlq') },
  { weight: 1, arbitrary: fc.constantFrom('success', 'acked', 'ok', '', null, 'whatever') },
);
const item: fc.Arbitrary<ItemChoice> = fc.record({
  message: fc.oneof(
    { weight: 8, arbitrary: fc.record({ inBatch: fc.nat(5) }) },
    { weight: 2, arbitrary: fc.record({ ahead: fc.integer({ min: -3, max: 7 }) }) },
    { weight: 1, arbitrary: fc.constant('unknown' as const) },
  ),
  status,
});

export const ackSome = fc
  .tuple(who, fc.array(item, { maxLength: 4 }), fc.integer({ min: 0, max: 9 }))
  .map(([by, items, dice]) => new AckByHash(by, items, dice > 0));

/** The first message of a batch fails, again and again: what a retry budget is spent on. */
export const failHead = who.map(
  (by) => new AckByHash({ ...by, worker: 'holder' }, [{ message: { inBatch: 0 }, status: 'failed' }], true),
);

const position: fc.Arbitrary<Position> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ fromEnd: fc.constantFrom(0, 0, 0, -1, 1) }) },
  { weight: 2, arbitrary: fc.record({ ahead: fc.integer({ min: -2, max: 4 }) }) },
  { weight: 1, arbitrary: fc.constant(null) },
);

export const ackUpTo = fc
  .tuple(who, position, fc.integer({ min: 0, max: 4 }), fc.boolean())
  .map(([by, at, dice, byName]) => new AckAt(by, at, dice > 0, byName));

export const ackTogether = fc
  .array(fc.record({ who, position }), { minLength: 1, maxLength: 5 })
  .map((moves) => new AckMany(moves));

/** Completes whatever is leased, for draining. */
export function ackAll(at: Target, groupName: string): Step {
  return new AckAt({ ...at, group: groupName, worker: 'holder', lease: null }, { fromEnd: 0 }, true, false);
}
