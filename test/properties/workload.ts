import type pg from 'pg';
import {
  ackAtCall,
  ackByHashCall,
  ackMultiCall,
  dlqHeadCall,
  popDiscover,
  popList,
  popSpecific,
  popWildcard,
  pushMultiCall,
  QUEUE_MODE,
  renewCall,
  run,
  scalar,
  type Batch,
  type PopOptions,
  type Pushed,
} from '../support/make.js';
import type { Dice } from './dice.js';

/** Queues of the workload; the last one is deleted now and then. */
export const QUEUES = ['load.a', 'load.b', 'load.doomed'];
const DOOMED = 'load.doomed';
export const PARTITIONS = ['p0', 'p1', 'p2', 'p3', 'p4', 'p5'];

/** Acks every batch whole, and nobody takes its leases away: every message comes once (I16, I17). */
export const STEADY = 'steady';
/** At most once (I19), and here, where every answer arrives, exactly once. */
export const AUTO = 'auto';
/** Fails, forgets, acks parts and without a lease, has its leases expire. */
export const ROUGH = ['rough', QUEUE_MODE];

const LEASE_SECONDS = 600;
const RIVALS = 40; // texts that several sessions push, for the dedup probe to decide

const LATELY_MAX = 30;

export interface Delivery {
  queue: string;
  partitionId: string;
  offsets: number[];
  texts: string[];
}

/** What all sessions of a workload saw. */
export class Journal {
  readonly deliveries = new Map<string, Delivery[]>([
    [STEADY, []],
    [AUTO, []],
  ]);
  /** What the rough groups got lately, for acks that come too late or twice, from any session. */
  readonly lately: Held[] = [];
  /** Errors that no step may meet. */
  readonly errors: string[] = [];
  private texts = 0;
  private workers = 0;
  operations = 0;

  mintText(): string {
    return `t${this.texts++}`;
  }

  mintWorker(): string {
    return `w${this.workers++}`;
  }
}

export interface Held extends Batch {
  group: string;
  worker: string;
}

/** One session doing one random thing after the other. */
export class Actor {
  private held: Held[] = [];

  constructor(
    private readonly session: pg.Client,
    private readonly dice: Dice,
    private readonly journal: Journal,
  ) {}

  async act(): Promise<void> {
    const actions: [number, () => Promise<void>][] = [
      [6, () => this.push()],
      [8, () => this.pop()],
      [8, () => this.settle()],
      [1, () => this.renew()],
      [2, () => this.ackLately()],
      [1, () => this.expire()],
      [1, () => this.probe()],
      [this.dice.once(10) ? 1 : 0, () => this.delete()],
    ];
    const bag = actions.flatMap(([weight, action]) => Array<() => Promise<void>>(weight).fill(action));
    this.journal.operations += 1;
    try {
      await this.dice.pick(bag)();
    } catch (error) {
      const { code, message, detail = '', where = '' } = error as Partial<pg.DatabaseError>;
      // A push may meet the deletion of its queue; its sender pushes again.
      if (code !== 'QGONE') this.journal.errors.push(`${code ?? 'no code'}: ${message}\n${detail}\n${where}`);
    }
  }

  /** Completes what it still holds, and gives up what was not its own to keep. */
  async leave(): Promise<void> {
    for (const batch of this.held.splice(0)) await this.complete(batch);
  }

  private async push(): Promise<void> {
    // A bundle names a partition once, as the broker's flush does: pushed to twice, the partition's foreign key would be
    // checked again under its lock, and that may meet a deletion of the queue that waits for the lock.
    const places = new Map(
      this.dice.some(QUEUES, 4).map((queue) => {
        const partition = this.dice.pick(PARTITIONS);
        return [`${queue} ${partition}`, { queue, partition }];
      }),
    );
    const segments = [...places.values()].map((place) => ({ ...place, texts: this.texts() }));
    await scalar<Pushed[]>(this.session, pushMultiCall(segments));
  }

  private texts(): string[] {
    const texts = Array.from({ length: 1 + this.dice.roll(4) }, () =>
      this.dice.once(4) ? `rival${this.dice.roll(RIVALS)}` : this.journal.mintText(),
    );
    return [...new Set(texts)];
  }

  private async pop(): Promise<void> {
    const group = this.dice.pick([STEADY, STEADY, AUTO, ...ROUGH]);
    const worker = this.journal.mintWorker();
    const options: PopOptions = {
      ...{ group, worker, leaseSeconds: LEASE_SECONDS, autoAck: group === AUTO },
      ...{ budget: 1 + this.dice.roll(12), maxPartitions: 1 + this.dice.roll(4) },
    };
    const queue = this.dice.pick(QUEUES);
    const routes = [
      () => popSpecific(this.session, queue, this.dice.pick(PARTITIONS), options),
      () => popList(this.session, queue, this.dice.some(PARTITIONS, 6), options),
      () => popWildcard(this.session, queue, options),
      () => popDiscover(this.session, { namespace: 'load' }, options),
    ];
    const { batches } = await this.dice.pick(routes)();
    for (const batch of batches) {
      this.journal.deliveries.get(group)?.push(deliveryOf(batch));
      if (group !== AUTO) this.held.push({ ...batch, group, worker });
      if (ROUGH.includes(group)) this.journal.lately.push({ ...batch, group, worker });
    }
    this.journal.lately.splice(0, Math.max(0, this.journal.lately.length - LATELY_MAX));
  }

  private async settle(): Promise<void> {
    const [batch] = this.held.splice(this.dice.roll(Math.max(this.held.length, 1)), 1);
    if (!batch) return;
    if (batch.group === STEADY || this.dice.once(2)) return this.complete(batch);
    const { partitionId, texts, group, worker } = batch;
    const statuses = texts.map(() =>
      this.dice.pick(['completed', 'completed', 'completed', 'failed', 'retry', 'dlq']),
    );
    const by = this.dice.once(5) ? '' : worker;
    const kept = texts.filter(() => !this.dice.once(3));
    const call = ackByHashCall(partitionId, kept, statuses.slice(0, kept.length), { group, worker: by });
    const answer = await scalar<{ ok: boolean; dlq?: boolean; off?: number }>(this.session, call);
    if (answer.dlq && !this.dice.once(4)) {
      await run(this.session, dlqHeadCall(partitionId, answer.off!, { group, worker: by }));
    }
  }

  /** Whole, in one of the three ways. A lease may be lost by then, except that of the steady group. */
  private async complete(batch: Held): Promise<void> {
    const { partitionId, texts, group, worker, end, queue } = batch;
    const all = [batch, ...this.held.filter((other) => other.group !== STEADY).splice(0, this.dice.roll(3))];
    const ways = [
      () => scalar(this.session, ackByHashCall(partitionId, texts, null, { group, worker })),
      () => scalar(this.session, ackAtCall(partitionId, end, { group, worker, count: texts.length })),
      async () => {
        const rows = all.map((one) => ({ ...one, upto: one.end, count: one.texts.length }));
        const { results } = await scalar<{ results: object[] }>(this.session, ackMultiCall(rows));
        return results[0];
      },
    ];
    const answer = (await this.dice.pick(ways)()) as { ok: boolean; error?: string };
    if (group === STEADY && queue !== DOOMED && !answer.ok) {
      this.journal.errors.push(`a steady batch could not be completed: ${answer.error}`);
    }
  }

  /** In any order: the procedure has to find one in which two of these cannot lock each other out (Z23). */
  private async ackLately(): Promise<void> {
    if (this.journal.lately.length === 0) return;
    const rows = this.dice.some(this.journal.lately, 8).map((one) => ({ ...one, upto: one.end }));
    await run(this.session, ackMultiCall(rows));
  }

  private async renew(): Promise<void> {
    const [batch] = this.dice.some(this.held, 1);
    if (!batch) return;
    const ids = this.dice.once(2) ? [batch.partitionId] : null;
    await run(this.session, renewCall(batch.worker, LEASE_SECONDS, ids));
  }

  private async expire(): Promise<void> {
    await run(this.session, [
      `update queen.log_consumers set lease_expires_at = clock_timestamp() - interval '1 second'
       where (partition_id, consumer_group) in (
         select c.partition_id, c.consumer_group from queen.log_consumers c
         where c.consumer_group = any ($1) and c.worker_id is not null
         order by random() limit 1 for update skip locked)`,
      [ROUGH],
    ]);
  }

  private async probe(): Promise<void> {
    const queue = this.dice.pick(QUEUES);
    await scalar(this.session, ['select queen.log_has_pending_v1($1, $2)', [queue, STEADY]]);
  }

  private async delete(): Promise<void> {
    this.held = this.held.filter(({ queue }) => queue !== DOOMED);
    await scalar(this.session, ['select queen.delete_queue_v1($1)', [DOOMED]]);
  }
}

function deliveryOf({ queue, partitionId, slices, texts }: Batch): Delivery {
  const offsets = slices.flatMap(({ base, startIdx, take }) =>
    Array.from({ length: take }, (_, k) => base + startIdx + k),
  );
  return { queue, partitionId, offsets, texts };
}
