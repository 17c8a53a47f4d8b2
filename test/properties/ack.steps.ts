import { expect } from '@jest/globals';
import fc from 'fast-check';
import {
  ackAtCall,
  ackByHashCall,
  ackMultiCall,
  dlqHeadCall,
  renewCall,
  scalar,
  TENANT,
} from '../support/make.js';
import type { Cursor, Model, ModelPartition } from './broker.model.js';
import { group, target } from './choices.js';
import { ackAt, ackByHash, putAside, renew, type AckItem } from './model.ack.js';
import { microsOf } from './push.steps.js';
import type { Snapshot } from './snapshot.js';
import { expectUntouched, idOf, named, Step, TENANTS, type Real, type Target } from './step.js';

/** Who acks: the holder of the lease, nobody in particular, an earlier holder, or one who never was. */
type Worker = 'holder' | 'none' | 'earlier' | 'stranger';

/** The cursor of a group on a partition, or while there are leases the n-th of the leased ones. */
interface Who extends Target {
  group: string;
  worker: Worker;
  lease: number | null;
}

const tellWho = (who: Who) =>
  `${who.lease === null ? '' : `lease ${who.lease} or `}${named(who)} of ${who.group} by ${who.worker}`;

function workerOf(model: Model, cursor: Cursor | undefined, worker: Worker): string {
  if (worker === 'none') return '';
  if (worker === 'stranger') return 'nobody';
  if (worker === 'holder') return cursor?.worker ?? '';
  return model.workers.filter((name) => name !== cursor?.worker).at(-1) ?? 'nobody';
}

function found(model: Model, who: Who) {
  const lease = who.lease === null ? undefined : model.lease(who.lease);
  const partition = lease?.partition ?? model.partition(who.queue, who.partition);
  const groupName = lease?.group ?? who.group;
  const cursor = partition?.cursors.get(groupName);
  return {
    ...{ partition, cursor, group: groupName, id: idOf(model, partition) },
    worker: workerOf(model, cursor, who.worker),
    queue: partition?.queue ?? who.queue,
    name: partition?.name ?? who.partition,
  };
}

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

function textAt(partition: ModelPartition | undefined, offset: number): string {
  return partition?.log.flatMap(({ texts }) => texts)[offset] ?? 'beyond the end';
}

const tellMessage = (message: MessageChoice) =>
  message === 'unknown' ? message : 'ahead' in message ? `+${message.ahead}` : `#${message.inBatch}`;

/** Acks and hand-overs change all or nothing. */
abstract class Verdict extends Step {
  private refused = false;

  constructor(protected readonly who: Who) {
    super();
  }

  /** One cursor that is not there tells as much as a hundred; strangers ask for it now and then. */
  override check(model: Readonly<Model>): boolean {
    return this.who.worker === 'stranger' || found(model as Model, this.who).cursor !== undefined;
  }

  protected expectResult(actual: Record<string, unknown>, expected: Record<string, unknown>): void {
    expect(actual).toEqual(expected);
    this.refused = expected.ok === false;
  }

  protected override look(before: Snapshot, after: Snapshot): void {
    if (this.refused) expectUntouched(before, after); // I34
  }
}

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

class PutAside extends Verdict {
  constructor(
    who: Who,
    private readonly ahead: number,
  ) {
    super(who);
  }

  /** A broker puts aside what it read in the log, never what is not there yet. */
  override check(model: Readonly<Model>): boolean {
    const { partition, cursor } = found(model as Model, this.who);
    const exists = !partition || !cursor || cursor.committed + this.ahead <= partition.lastOffset;
    return exists && super.check(model);
  }

  protected async act(model: Model, real: Real): Promise<void> {
    const { partition, cursor, group: groupName, id, worker } = found(model, this.who);
    const offset = (cursor?.committed ?? -1) + this.ahead;
    const text = textAt(partition, offset);
    const letter = { group: groupName, worker, text, payload: '{"a":"\\u0000"}', error: 'boom' };
    const call = dlqHeadCall(id, offset, letter);
    const { id: letterId, ...actual } = await scalar<Record<string, unknown>>(real.session, call);
    this.expectResult(actual, putAside(model, partition, { ...letter, offset }));
    expect(typeof letterId).toBe(actual.ok ? 'string' : 'undefined');
  }

  toString(): string {
    return `put aside ${tellWho(this.who)} at cursor + ${this.ahead}`;
  }
}

class Renew extends Step {
  constructor(
    private readonly who: Who,
    private readonly seconds: number | null,
    private readonly named: boolean,
    private readonly tenant: string | null,
  ) {
    super();
  }

  override check(model: Readonly<Model>): boolean {
    return (model as Model).workers.length > 0;
  }

  private answered: { renewed: number; expiresAt: string | null } = { renewed: 0, expiresAt: null };
  private renewed: Cursor[] = [];

  protected async act(model: Model, real: Real): Promise<void> {
    const { id, worker } = found(model, this.who);
    const ids = this.named ? [id] : null;
    this.answered = await scalar(real.session, renewCall(worker, this.seconds, ids, this.tenant));
    this.renewed = worker === '' ? [] : renew(model, worker, this.seconds, ids, this.tenant);
    expect(this.answered.renewed).toBe(this.renewed.length);
  }

  protected override look(): void {
    // I33 is in the model: a renewed lease ends no earlier than before. I45: the text names the earliest of them.
    const ends = this.renewed.map(({ expiresAt }) => Number(expiresAt));
    const { expiresAt } = this.answered;
    expect(expiresAt === null ? null : microsOf(expiresAt)).toBe(
      ends.length === 0 ? null : Math.min(...ends),
    );
  }

  toString(): string {
    const which = this.named ? 'only there' : 'everywhere';
    const whose = this.tenant === null ? 'any tenant' : `tenant ${TENANTS.indexOf(this.tenant) + 1}`;
    return `renew the leases of ${this.who.worker} at ${tellWho(this.who)} by ${this.seconds} s, ${which}, ${whose}`;
  }
}

const worker = fc.oneof(
  { weight: 8, arbitrary: fc.constant<Worker>('holder') },
  { weight: 2, arbitrary: fc.constantFrom<Worker>('none', 'none', 'earlier', 'stranger') },
);
const who: fc.Arbitrary<Who> = fc
  .record({ at: target, group, worker, lease: fc.option(fc.nat(7), { freq: 6 }) })
  .map(({ at, ...rest }) => ({ ...at, ...rest }));

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

export const deadLetter = fc
  .tuple(who, fc.integer({ min: 0, max: 4 }))
  .map(([by, ahead]) => new PutAside(by, ahead));

export const renewal = fc
  .tuple(
    who,
    fc.constantFrom(null, -1, 50, 150, 1050),
    fc.boolean(),
    fc.constantFrom(null, null, TENANT, TENANTS[1]),
  )
  .map(([by, seconds, here, owner]) => new Renew(by, seconds, here, owner));

/** Completes whatever is leased, for draining. */
export function ackAll(at: Target, groupName: string): Step {
  return new AckAt({ ...at, group: groupName, worker: 'holder', lease: null }, { fromEnd: 0 }, true, false);
}
