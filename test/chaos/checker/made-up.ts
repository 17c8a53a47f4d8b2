import type { Final, Step } from './check.mjs';

type Status = 'completed' | 'failed' | 'retry' | 'dlq';

export interface Pop {
  group?: string;
  queue?: string;
  autoAck?: boolean;
  outcome?: Step['outcome'];
}

/** Of all leases here. */
export const LEASE_MS = 3000;

/**
 * A history made up step by step, with the tables that a sound broker would have in the end. Every step takes ten
 * milliseconds and begins ten after the last one, unless told otherwise; a plant then changes what it needs.
 */
export class MadeUp {
  readonly steps: Step[] = [];
  readonly final: Final = {
    queues: [],
    partitions: [],
    entries: [],
    cursors: [],
    deadLetters: [],
    faults: [],
    stuck: [],
  };
  private nowMs = 0;
  private leases = 0;

  constructor(options: Record<string, unknown> = {}) {
    const queue = (name: string, groups: { name: string; kind: string }[], more = {}) => ({
      ...{ name, options: { dedupWindowSeconds: 60, ...options }, groups },
      ...more,
    });
    const queues = [
      queue('q', [
        { name: 'g', kind: 'leased' },
        { name: 'a', kind: 'auto' },
        { name: 's', kind: 'seek' },
      ]),
      queue('in', [{ name: 'm', kind: 'mover' }]),
      queue('out', [{ name: 'o', kind: 'leased' }], { from: 'in' }),
    ];
    this.add('plan', { seed: 'made-up', queues }, {});
    for (const { name, groups } of queues) {
      this.final.queues.push({ id: `id of ${name}`, name });
      const id = partitionIdOf(name);
      const marks = { lastOffset: -1, logStart: 0, txnsStart: 0 };
      this.final.partitions.push({ id, queueId: `id of ${name}`, name: 'p', ...marks });
      for (const group of groups)
        this.final.cursors.push({ partitionId: id, group: group.name, committed: -1, worker: null });
    }
  }

  wait(ms: number): void {
    this.nowMs += ms;
  }

  push(ids: string[], { queue = 'q', statuses = ids.map(() => 'queued'), stores = true } = {}): Step {
    const answer = { items: ids.map((id, i) => [statuses[i], messageId(queue, id)]) };
    const step = this.add('push', { items: ids.map((id) => [queue, 'p', id]) }, answer);
    if (stores) this.store(queue, ids);
    return step;
  }

  store(queue: string, ids: string[]): void {
    const partition = this.partition(queue);
    for (const transactionId of ids)
      this.final.entries.push({
        partitionId: partition.id,
        offset: ++partition.lastOffset,
        transactionId,
        createdAt: this.nowMs * 1000,
        id: messageId(queue, transactionId),
      });
  }

  pop(ids: string[], { group = 'g', queue = 'q', autoAck = false, outcome = 'ok' }: Pop = {}): Step {
    const messages = ids.map((id) => ({
      ...{ id: messageId(queue, id), transactionId: id },
      ...{ partitionId: partitionIdOf(queue), partition: 'p' },
    }));
    const lease = autoAck ? '' : `lease ${this.leases++}`;
    const asked = { queue, group, batch: 10, partitions: 1, autoAck, leaseSeconds: LEASE_MS / 1000 };
    const answer = outcome === 'ok' ? { lease, messages } : {};
    if (autoAck) this.moveTo(queue, group, ids);
    return this.add('pop', asked, answer, outcome);
  }

  ack(pop: Step, statuses: Status[] | null = null, outcome: Step['outcome'] = 'ok'): Step {
    const { messages, lease } = pop.answer as Batch;
    const { group, queue } = pop as unknown as { group: string; queue: string };
    const acks = messages.map(({ transactionId, partitionId }, i) => ({
      ...{ partitionId, transactionId },
      status: statuses?.[i] ?? 'completed',
    }));
    const results = acks.map(() => ({ success: true, noop: false, dlq: false, error: null }));
    const signal = acks.findIndex(({ status }) => status !== 'completed');
    const done = messages.slice(0, signal < 0 ? undefined : signal);
    this.moveTo(
      queue,
      group,
      done.map(({ transactionId }) => transactionId),
    );
    return this.add('ack', { group, lease, acks }, outcome === 'ok' ? { results } : {}, outcome);
  }

  /** Finishes a batch of `in`, with a successor in `out` for each message. */
  transaction(pop: Step, { attempt = 1, success = true, outcome = 'ok' as Step['outcome'] } = {}): Step {
    const { messages, lease } = pop.answer as Batch;
    const ids = messages.map(({ transactionId }) => transactionId);
    const acks = messages.map(({ transactionId, partitionId }) => ({
      ...{ partitionId, transactionId },
      status: 'completed',
    }));
    const pushes = ids.map((id) => ['out', 'p', `${id}>${attempt}`, id]);
    const answer = outcome === 'ok' ? { success, error: success ? null : 'rolled back' } : {};
    const step = this.add('transaction', { group: 'm', lease, acks, pushes }, answer, outcome);
    if (success) {
      this.store(
        'out',
        ids.map((id) => `${id}>${attempt}`),
      );
      this.moveTo('in', 'm', ids);
    }
    return step;
  }

  seek(timestampMs: number): Step {
    const timestamp = new Date(timestampMs).toISOString().replace('Z', '000Z');
    return this.add('seek', { group: 's', queue: 'q', timestamp }, { success: true });
  }

  /** What the tables hold now, as the watch sees it. */
  watch(): Step {
    const { partitions, cursors, queues } = this.final;
    return this.add(
      'watch',
      {},
      {
        now: this.nowMs * 1000,
        partitions: partitions.map(({ id, queueId, lastOffset, logStart, txnsStart }) => [
          ...[id, queues.find((queue) => queue.id === queueId)?.name],
          ...[lastOffset, logStart, txnsStart],
        ]),
        cursors: cursors.map(({ partitionId, group, committed }) => [partitionId, group, committed, 0]),
      },
    );
  }

  add(what: string, asked: object, answer: object, outcome: Step['outcome'] = 'ok'): Step {
    const startUs = this.nowMs * 1000;
    const endUs = outcome === 'open' ? Infinity : startUs + 10_000;
    const step = { by: 'someone', do: what, ...asked, startUs, endUs, outcome, answer };
    this.nowMs += 20;
    this.steps.push(step);
    return step;
  }

  partition(queue: string): Final['partitions'][number] {
    return found(this.final.partitions.find(({ id }) => id === partitionIdOf(queue)));
  }

  cursor(queue: string, group: string): Final['cursors'][number] {
    const partitionId = partitionIdOf(queue);
    return found(this.final.cursors.find((row) => row.partitionId === partitionId && row.group === group));
  }

  private moveTo(queue: string, group: string, ids: string[]): void {
    const { entries } = this.final;
    const own = entries.filter(({ partitionId }) => partitionId === partitionIdOf(queue));
    const offsets = ids.map((id) => own.find(({ transactionId }) => transactionId === id)?.offset ?? -1);
    const cursor = this.cursor(queue, group);
    cursor.committed = Math.max(cursor.committed, ...offsets);
  }
}

export interface Batch {
  lease: string;
  messages: { id: string; transactionId: string; partitionId: string; partition: string; wrong?: string }[];
}

export const partitionIdOf = (queue: string) => `partition of ${queue}`;
const messageId = (queue: string, id: string) => `message ${queue} ${id}`;

function found<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('not made up');
  return value;
}
