import { expect } from '@jest/globals';
import fc from 'fast-check';
import { makeQueue, scalar } from '../support/make.js';
import {
  CONFIGURE_DEFAULTS,
  SECOND,
  type Model,
  type QueueName,
  type QueueSettings,
} from './broker.model.js';
import { queueName, QUEUES, target } from './choices.js';
import type { Snapshot } from './snapshot.js';
import { expectUntouched, named, queueNamed, Step, type Real, type Target } from './step.js';

/*
 * What happens to a log besides messages: settings, deletion, time, retention. Retention has no procedure of its own
 * here; its effect is written by hand, whole segments from the front.
 */

type Options = Partial<QueueSettings> & { mode?: 'merge' | 'replace' };

class Configure extends Step {
  constructor(
    private readonly queue: QueueName,
    private readonly options: Options,
  ) {
    super();
  }

  protected async act(model: Model, { session }: Real): Promise<void> {
    const { tenant, name } = this.queue;
    await makeQueue(session, name, this.options, tenant);
    const { mode, ...given } = this.options;
    const queue = model.queue(this.queue) ?? model.addQueue(this.queue, { ...CONFIGURE_DEFAULTS });
    queue.settings = { ...(mode === 'replace' ? CONFIGURE_DEFAULTS : queue.settings), ...given };
  }

  toString(): string {
    return `configure ${queueNamed(this.queue)} ${JSON.stringify(this.options)}`;
  }
}

class ConfigureInVain extends Step {
  constructor(
    private readonly queue: QueueName,
    private readonly options: Record<string, unknown>,
  ) {
    super();
  }

  protected async act(_model: Model, { session }: Real): Promise<void> {
    const { tenant, name } = this.queue;
    await expect(makeQueue(session, name, this.options, tenant)).rejects.toMatchObject({ code: 'QCONF' });
  }

  protected override look(before: Snapshot, after: Snapshot): void {
    expectUntouched(before, after);
  }

  toString(): string {
    return `configure in vain ${queueNamed(this.queue)} ${JSON.stringify(this.options)}`;
  }
}

/** I9, I44: what is left is compared table by table, orphans included. */
class DeleteQueue extends Step {
  constructor(private readonly queue: QueueName) {
    super();
  }

  protected async act(model: Model, { session }: Real): Promise<void> {
    const { tenant, name } = this.queue;
    const answer = await scalar(session, ['select queen.delete_queue_v1($1, $2)', [name, tenant]]);
    const existed = model.deleteQueue(this.queue);
    expect(answer).toMatchObject({ deleted: existed, existed, queue: name });
  }

  toString(): string {
    return `delete ${queueNamed(this.queue)}`;
  }
}

/** Everything that has a time gets older; the epoch, which stands for "never", stays. */
const GET_OLDER = `
  update queen.log_segments set created_at = created_at - $T;
  update queen.log_txns set created_at = created_at - $T;
  update queen.log_partitions set last_write_at = last_write_at - $T;
  update queen.log_consumers set lease_expires_at = lease_expires_at - $T, lease_acquired_at = lease_acquired_at - $T;
  update queen.consumer_watermarks set
    last_empty_scan_at = case when last_empty_scan_at = 'epoch' then 'epoch' else last_empty_scan_at - $T end,
    updated_at = case when updated_at = 'epoch' then 'epoch' else updated_at - $T end;
  update queen.consumer_groups_metadata set subscription_timestamp = subscription_timestamp - $T
  where subscription_timestamp <> 'epoch'`;

class TimePasses extends Step {
  constructor(private readonly seconds: number) {
    super();
  }

  protected async act(model: Model, { session }: Real): Promise<void> {
    await session.query(GET_OLDER.replaceAll('$T', `interval '${this.seconds} seconds'`));
    model.pass(this.seconds);
  }

  toString(): string {
    return `${this.seconds} s pass`;
  }
}

/** One lease runs out, the rest of the world stays as it is. */
class Expire extends Step {
  constructor(private readonly lease: number) {
    super();
  }

  override check(model: Readonly<Model>): boolean {
    return (model as Model).held().length > 0;
  }

  protected async act(model: Model, { session }: Real): Promise<void> {
    const held = model.held();
    const { partition, group: groupName } = held[this.lease % held.length];
    const expiresAt = model.now - 100 * SECOND;
    partition.cursors.get(groupName)!.expiresAt = expiresAt;
    await session.query(
      `update queen.log_consumers set lease_expires_at = 'epoch'::timestamptz + $1::bigint * interval '1 microsecond'
       where partition_id = $2 and consumer_group = $3`,
      [expiresAt, partition.id, groupName],
    );
  }

  toString(): string {
    return `lease ${this.lease} runs out`;
  }
}

class Retention extends Step {
  constructor(
    private readonly target: Target,
    private readonly segments: number,
    private readonly withHashes: boolean,
  ) {
    super();
  }

  override check(model: Readonly<Model>): boolean {
    return (model as Model).partition(this.target.queue, this.target.partition) !== undefined;
  }

  protected async act(model: Model, { session }: Real): Promise<void> {
    const partition = model.partition(this.target.queue, this.target.partition)!;
    const live = partition.log.filter(({ base }) => base >= partition.logStart);
    const last = live.slice(0, this.segments).at(-1);
    if (last) partition.logStart = last.base + last.texts.length;
    if (this.withHashes) partition.txnsStart = partition.logStart;
    const { id, logStart, txnsStart } = partition;
    await session.query('delete from queen.log_segments where partition_id = $1 and end_offset < $2', [
      id,
      logStart,
    ]);
    await session.query('delete from queen.log_txns where partition_id = $1 and end_offset < $2', [
      id,
      txnsStart,
    ]);
    await session.query('update queen.log_partitions set log_start = $2, txns_start = $3 where id = $1', [
      id,
      logStart,
      txnsStart,
    ]);
  }

  toString(): string {
    const hashes = this.withHashes ? ' and their hashes' : '';
    return `retention takes ${this.segments} segments${hashes} of ${named(this.target)}`;
  }
}

class TimeZone extends Step {
  constructor(private readonly zone: string) {
    super();
  }

  protected async act(_model: Model, { session }: Real): Promise<void> {
    await session.query(`set timezone = '${this.zone}'`);
  }

  toString(): string {
    return `the session moves to ${this.zone}`;
  }
}

const seconds = fc.constantFrom(0, 0, 0, 50, 150);
/** Both have to be off for a message that fails too often to be dropped. */
const letters = fc.constantFrom(
  { deadLetterQueue: false, dlqAfterMaxRetries: false },
  { deadLetterQueue: false, dlqAfterMaxRetries: false },
  { deadLetterQueue: true, dlqAfterMaxRetries: false },
  { deadLetterQueue: false, dlqAfterMaxRetries: true },
);
const settings = fc.record(
  {
    mode: fc.constantFrom('merge' as const, 'replace' as const),
    namespace: fc.constantFrom('shared', 'orders'),
    task: fc.constantFrom('eu', ''),
    leaseTime: fc.constantFrom(50, 150),
    retryLimit: fc.constantFrom(0, 0, 1, 3),
    delayedProcessing: seconds,
    windowBuffer: seconds,
    dedupWindowSeconds: fc.constantFrom(0, 0, 50, 350),
  },
  { requiredKeys: [] },
);
const options: fc.Arbitrary<Options> = fc
  .tuple(settings, fc.option(letters, { freq: 1, nil: {} }))
  .map(([given, more]) => ({ ...given, ...more }));

export const configure = fc.tuple(queueName, options).map(([queue, o]) => new Configure(queue, o));
/** How the queue with most of the traffic begins: among others so that the first failure of a message is its last. */
export const beginning = fc
  .constantFrom<Options>(
    {},
    { retryLimit: 0 },
    { retryLimit: 0, deadLetterQueue: false, dlqAfterMaxRetries: false },
    { retryLimit: 1, deadLetterQueue: false, dlqAfterMaxRetries: false },
    { dedupWindowSeconds: 0 },
    { delayedProcessing: 150, leaseTime: 1050 },
  )
  .map((o) => new Configure(QUEUES[0], o));
export const configureInVain = fc
  .tuple(
    queueName,
    fc.constantFrom({ mode: 'some' }, { retryLimit: -1 }, { delayedProcessing: '10' }, { unknown: 1 }),
  )
  .map(([queue, o]) => new ConfigureInVain(queue, o));
export const deleteQueue = queueName.map((queue) => new DeleteQueue(queue));
export const timePasses = fc.constantFrom(100, 100, 100, 200, 1000, 4000).map((s) => new TimePasses(s));
export const expire = fc.nat(5).map((lease) => new Expire(lease));
export const retention = fc
  .tuple(target, fc.constantFrom(0, 1, 2, 99), fc.boolean())
  .map(([at, count, hashes]) => new Retention(at, count, hashes));
export const timeZone = fc
  .constantFrom('UTC', 'Asia/Tokyo', 'America/Los_Angeles')
  .map((zone) => new TimeZone(zone));

/** Nothing is held back any more, for draining. */
export function release(queue: QueueName): Step {
  return new Configure(queue, { delayedProcessing: 0, windowBuffer: 0 });
}

export function expireNth(lease: number): Step {
  return new Expire(lease);
}
