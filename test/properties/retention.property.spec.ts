import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  consumerRow,
  numbered,
  partitionRow,
  popSpecific,
  pushMessages,
  run,
  segmentRows,
} from '../support/make.js';
import { ALL, history, NOTHING, orphans, purgeStep, retentionStep } from '../support/retention.js';

/**
 * Pushes, reads, seeks, retention and purges in any order, on one partition, against a model: segments are a list, a
 * group is a number. Invariants I4, I6, I8, I9, I37, I38, I39.
 */
let db: TestDatabase;
let queues = 0;

beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

interface Segment {
  base: number;
  end: number;
}

/** Which cutoff: none, everything, nothing, or the time of the k-th (modulo) live segment. */
type Cutoff = 'none' | 'all' | 'nothing' | number;

type Step =
  | { push: number }
  | { read: 'fast' | 'slow'; messages: number }
  | { seek: 'fast' | 'slow'; toEnd: boolean }
  | { retain: Cutoff; completed: Cutoff; rows: number }
  | { purge: Cutoff; rows: number };

const cutoff = fc.oneof(
  fc.constantFrom<Cutoff>('none', 'all', 'nothing'),
  fc.nat({ max: 20 }) as fc.Arbitrary<Cutoff>,
);
const group = fc.constantFrom<'fast' | 'slow'>('fast', 'slow');
const rows = fc.integer({ min: 1, max: 4 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ push: fc.integer({ min: 1, max: 4 }) }) },
  { weight: 4, arbitrary: fc.record({ read: group, messages: fc.integer({ min: 1, max: 6 }) }) },
  { weight: 1, arbitrary: fc.record({ seek: group, toEnd: fc.boolean() }) },
  { weight: 5, arbitrary: fc.record({ retain: cutoff, completed: cutoff, rows }) },
  { weight: 3, arbitrary: fc.record({ purge: cutoff, rows }) },
);

class Run {
  private readonly queue = `q${queues++}`;
  private readonly cursors = new Map<string, number>();
  private segments: Segment[] = [];
  private hashes: Segment[] = [];
  private last = -1;
  private deleted = 0;
  private unread = 0;

  async start(): Promise<void> {
    await this.push(1);
  }

  async take(next: Step): Promise<void> {
    if ('push' in next) await this.push(next.push);
    else if ('read' in next) await this.read(next.read, next.messages);
    else if ('seek' in next) await this.seek(next.seek, next.toEnd);
    else if ('retain' in next) await this.retain(next.retain, next.completed, next.rows);
    else await this.purge(next.purge, next.rows);
    await this.compare();
  }

  private get logStart(): number {
    return this.segments[0]?.base ?? this.last + 1;
  }

  private async push(count: number): Promise<void> {
    await pushMessages(db, this.queue, 'p', numbered(`${this.queue}-`, count, this.last + 1));
    const segment = { base: this.last + 1, end: this.last + count };
    this.last = segment.end;
    this.segments.push(segment);
    this.hashes.push(segment);
  }

  private async read(name: string, messages: number): Promise<void> {
    const { texts } = await popSpecific(db, this.queue, 'p', {
      group: name,
      budget: messages,
      autoAck: true,
    });
    const from = Math.max((this.cursors.get(name) ?? -1) + 1, this.logStart);
    const upto = Math.min(this.last, from + messages - 1);
    expect(texts).toEqual(numbered(`${this.queue}-`, Math.max(0, upto - from + 1), from));
    // An empty partition seals the cursor at its end; a group that has caught up stays.
    this.cursors.set(
      name,
      Math.max(this.cursors.get(name) ?? -1, this.segments.length === 0 ? this.last : upto),
    );
  }

  private async seek(name: string, toEnd: boolean): Promise<void> {
    const call = 'select queen.log_seek_partition_v1($1, $2, $3, $4, $5)';
    await run(db, [call, [name, this.queue, 'p', toEnd, toEnd ? null : 'epoch']]);
    this.cursors.set(name, toEnd || this.segments.length === 0 ? this.last : this.logStart - 1);
  }

  private async retain(all: Cutoff, completed: Cutoff, limit: number): Promise<void> {
    const needed = this.cursors.size === 0 ? null : Math.min(...this.cursors.values()) + 1;
    const byAge = await this.border(all);
    const byCompletion = needed === null ? 0 : Math.min((await this.border(completed)).below, needed);
    const border = Math.max(byAge.below, byCompletion);
    const eligible = this.segments.filter(({ end }) => end < border);
    const gone = eligible.slice(0, limit);

    const cutoffs = { all: byAge.text, completed: (await this.border(completed)).text };
    const result = await retentionStep(db, this.queue, 'p', { ...cutoffs, rows: limit });
    const upto = gone.at(-1)?.end ?? this.logStart - 1;
    const unread = needed === null ? 0 : Math.max(0, upto + 1 - Math.max(this.logStart, needed));
    expect(result).toEqual({
      deleted: gone.length,
      new_log_start: upto + 1,
      done: gone.length === eligible.length,
      messages: upto + 1 - this.logStart,
      unread,
    });
    if (all === 'none' || all === 'nothing') expect(unread).toBe(0);
    this.deleted += result.messages;
    this.unread += unread;
    this.segments = this.segments.slice(gone.length);
  }

  private async purge(at: Cutoff, limit: number): Promise<void> {
    const { text, below } = await this.border(at);
    const eligible = this.hashes.filter(({ end }) => end < Math.min(below, this.logStart));
    // Only a time of a live segment can be named, and every hash row of a deleted one is older than that.
    const gone = text === NOTHING ? [] : eligible.slice(0, limit);
    const result = await purgeStep(db, this.queue, 'p', text, limit);
    expect(result.deleted).toBe(gone.length);
    if (text !== null && text !== NOTHING) expect(result.done).toBe(gone.length === eligible.length);
    this.hashes = this.hashes.slice(gone.length);
  }

  /** A cutoff as text, and the offset below which everything is older. */
  private async border(at: Cutoff): Promise<{ text: string | null; below: number }> {
    if (at === 'none') return { text: null, below: 0 };
    if (at === 'all') return { text: ALL, below: this.last + 1 };
    if (at === 'nothing' || this.segments.length === 0) return { text: NOTHING, below: 0 };
    const index = at % this.segments.length;
    const live = await segmentRows(db, this.queue, 'p');
    return { text: live[index].createdAt, below: this.segments[index].base };
  }

  private async compare(): Promise<void> {
    const row = (await partitionRow(db, this.queue, 'p'))!;
    expect(row).toMatchObject({ lastOffset: this.last, logStart: this.logStart });
    const spans = (list: readonly Segment[]) => list.map(({ base, end }) => [base, end]);
    expect(spans(await segmentRows(db, this.queue, 'p'))).toEqual(spans(this.segments));
    expect(spans(await segmentRows(db, this.queue, 'p', 'log_txns'))).toEqual(spans(this.hashes));
    if (this.hashes.length > 0) expect(row.txnsStart).toBe(this.hashes[0].base);
    for (const [name, committed] of this.cursors) {
      expect((await consumerRow(db, this.queue, 'p', name))?.committed).toBe(committed);
    }
    const lines = await history(db, row.id);
    expect(lines.reduce((sum, { messages }) => sum + messages, 0)).toBe(this.deleted);
    expect(lines.reduce((sum, { unread }) => sum + unread, 0)).toBe(this.unread);
  }
}

it('retention deletes what its rules say, whole and from the front, and nothing else', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const one = new Run();
      await one.start();
      for (const next of steps) await one.take(next);
    }),
    { numRuns: 40, endOnFailure: false },
  );
  expect(await orphans(db)).toBe(0);
}, 180_000);
