import { expect } from '@jest/globals';
import fc from 'fast-check';
import { decodeSegment } from '../../src/segment/segment.js';
import { run, scalar } from '../support/make.js';
import { QUEUE_MODE, stored, type Model, type QueueName } from './broker.model.js';
import { group, queueName, target, tenant } from './choices.js';
import { isPending, mayBePending } from './model.pop.js';
import { named, queueNamed, Step, type Real, type Target } from './step.js';

/** Questions: the model knows the answer. Their functions are STABLE, so PostgreSQL itself keeps them from writing. */
abstract class Question extends Step {
  protected override readonly asksOnly = true;
}

/** I40 among others: a sealed partition is no longer pending. */
class AskPending extends Question {
  constructor(
    private readonly target: Target,
    private readonly group: string,
  ) {
    super();
  }

  protected async act(model: Model, { session }: Real): Promise<void> {
    const { queue, partition: name } = this.target;
    const known = model.queue(queue);
    const whole = await ask(session, 'log_has_pending_v1', [queue.name, this.group, queue.tenant]);
    const all = [...(known?.partitions.values() ?? [])];
    expect({ whole }).toEqual({ whole: all.some((partition) => mayBePending(partition, this.group)) });

    const one = await ask(session, 'log_partition_has_pending_v1', [
      ...[queue.name, name, this.group, queue.tenant],
    ]);
    const partition = model.partition(queue, name);
    const unseen = partition === undefined || !partition.cursors.has(this.group);
    expect({ one }).toEqual({ one: unseen || isPending(partition, this.group) });

    if (known && known.settings.namespace !== '') {
      const { namespace, task } = known.settings;
      await expectDiscoverable(model, session, { tenant: queue.tenant, namespace, task }, this.group);
    }
  }

  toString(): string {
    return `ask what is pending for ${this.group} in ${named(this.target)}`;
  }
}

class AskDiscoverable extends Question {
  constructor(
    private readonly filter: Filter,
    private readonly group: string,
  ) {
    super();
  }

  protected async act(model: Model, { session }: Real): Promise<void> {
    await expectDiscoverable(model, session, this.filter, this.group);
  }

  toString(): string {
    return `ask what ${this.group} may discover in ${JSON.stringify(this.filter)}`;
  }
}

interface Filter {
  tenant: string;
  namespace: string;
  task: string;
}

async function ask(session: Real['session'], probe: string, values: unknown[]): Promise<boolean> {
  const parameters = values.map((_, k) => `$${k + 1}`).join(', ');
  return scalar<boolean>(session, [`select queen.${probe}(${parameters})`, values]);
}

async function expectDiscoverable(
  model: Model,
  session: Real['session'],
  { tenant: owner, namespace, task }: Filter,
  groupName: string,
): Promise<void> {
  const matching = model.matching(owner, namespace, task);
  const expected = matching.some(
    ({ subscriptions, partitions }) =>
      (groupName !== QUEUE_MODE && !subscriptions.has(groupName)) ||
      [...partitions.values()].some((partition) => isPending(partition, groupName)),
  );
  const values = [namespace, task, groupName, owner];
  const discoverable = await ask(session, 'log_discover_has_pending_v1', values);
  expect({ discoverable }).toEqual({ discoverable: expected });
}

const NIL = '00000000-0000-0000-0000-000000000000';

/** Both walks of the hot-list page through exactly the partitions with a backlog. */
class Reseed extends Question {
  constructor(
    private readonly queue: QueueName,
    private readonly group: string,
    private readonly page: number,
    private readonly windowSeconds: number | null,
  ) {
    super();
  }

  protected async act(model: Model, { session }: Real): Promise<void> {
    const pending = [...(model.queue(this.queue)?.partitions.values() ?? [])].filter((partition) =>
      mayBePending(partition, this.group),
    );
    const byId = await this.walkById(session);
    expect(byId).toEqual(pending.map(({ id }) => id).sort());

    const recent = pending.filter(
      ({ lastWriteAt }) =>
        this.windowSeconds === null || !model.isOlder(Number(lastWriteAt), this.windowSeconds),
    );
    const byTime = await this.walkByTime(session);
    expect([...byTime].sort()).toEqual(recent.map(({ id }) => id).sort());
  }

  private async walkById(session: Real['session']): Promise<string[]> {
    const ids: string[] = [];
    for (;;) {
      const rows = await run(session, [
        'select r_id as id from queen.log_hotlist_reseed_v1($1, $2, $3, $4, $5)',
        [this.queue.name, this.group, ids.at(-1) ?? NIL, this.page, this.queue.tenant],
      ]);
      ids.push(...rows.map(({ id }) => id as string));
      if (rows.length < this.page) return ids;
    }
  }

  private async walkByTime(session: Real['session']): Promise<string[]> {
    const ids: string[] = [];
    let [after, cutoff] = ['-infinity', null as string | null];
    for (;;) {
      const rows = await run(session, [
        `select r_id as id, r_last_write_at::text as at, r_cutoff::text as cutoff
         from queen.log_hotlist_reseed_window_v1($1, $2, $3, $4, $5, $6, $7, $8)`,
        [
          ...[this.queue.name, this.group, after, ids.at(-1) ?? NIL],
          ...[this.windowSeconds && this.windowSeconds * 1000, cutoff, this.page, this.queue.tenant],
        ],
      ]);
      ids.push(...rows.map(({ id }) => id as string));
      if (rows.length < this.page) return ids;
      after = rows.at(-1)!.at as string;
      cutoff = rows.at(-1)!.cutoff as string;
    }
  }

  toString(): string {
    const window = this.windowSeconds === null ? 'all' : `the last ${this.windowSeconds} s`;
    return `reseed ${queueNamed(this.queue)} for ${this.group}, ${window}, by ${this.page}`;
  }
}

/** I10: the segment that covers an offset holds that message there, or there is none. */
class SegmentAt extends Question {
  constructor(
    private readonly target: Target,
    private readonly offset: number,
  ) {
    super();
  }

  override check(model: Readonly<Model>): boolean {
    return (model as Model).partition(this.target.queue, this.target.partition) !== undefined;
  }

  protected async act(model: Model, { session }: Real): Promise<void> {
    const partition = model.partition(this.target.queue, this.target.partition)!;
    const offset = partition.logStart + this.offset;
    const call = 'select r_base, r_end, r_blob from queen.log_segment_at_v1($1, $2)';
    const [row] = await run(session, [call, [partition.id, offset]]);
    const text = stored(partition).find((message) => message.offset === offset)?.text;
    if (text === undefined) {
      expect(row).toBeUndefined();
      return;
    }
    const [base, end] = [Number(row.r_base), Number(row.r_end)];
    const frames = decodeSegment(row.r_blob as Buffer, end - base + 1).frames();
    expect(frames[offset - base].transactionId.toString()).toBe(text);
  }

  toString(): string {
    return `read the message at log start + ${this.offset} of ${named(this.target)}`;
  }
}

export const askPending = fc.tuple(target, group).map(([at, by]) => new AskPending(at, by));
const filter: fc.Arbitrary<Filter> = fc
  .record({
    tenant,
    namespace: fc.constantFrom('orders', 'audit', 'shared', ''),
    task: fc.constantFrom('eu', ''),
  })
  .filter(({ namespace, task }) => namespace !== '' || task !== '');
export const askDiscoverable = fc.tuple(filter, group).map((choices) => new AskDiscoverable(...choices));
export const reseed = fc
  .tuple(queueName, group, fc.integer({ min: 1, max: 3 }), fc.constantFrom(null, 50, 250))
  .map((choices) => new Reseed(...choices));
export const segmentAt = fc
  .tuple(target, fc.integer({ min: -2, max: 12 }))
  .map(([at, offset]) => new SegmentAt(at, offset));
