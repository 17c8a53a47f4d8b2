import { describe, expect, it } from '@jest/globals';
import { pushBench, settled, type PushBench } from '../../../test/support/push.js';
import { DEFAULT_TENANT } from '../../base/names/names.js';
import { queueKey } from '../../base/queue-key.js';
import { BrokerError } from '../../base/errors/broker-error.js';
import type { PushResult } from '../push-message.js';

const NEVER = Number.MAX_SAFE_INTEGER;
const MIB = 1024 * 1024;

const indexed = (log?: PushBench['log']) => pushBench({ dedupBytesMax: 64 * MIB }, 8, log);
const idsOf = (count: number, prefix = 't') =>
  Array.from({ length: count }, (_, n) => ({ transactionId: `${prefix}${n}` }));
const statusesOf = (results: PushResult[]) => results.map(({ status }) => status);

/** What the next push of new ids promises. */
async function verifiedBy(
  { push, log }: PushBench,
  transactionId = `probe ${Math.random()}`,
): Promise<number> {
  await push([{ transactionId }]);
  return log.verified.at(-1)!;
}

describe('a dedup index', () => {
  it('starts with the first message of a partition, without reading anything', async () => {
    const bench = indexed();
    await bench.push(idsOf(3));
    expect(await verifiedBy(bench)).toBe(2);
    expect(await verifiedBy(bench)).toBe(3);
    await settled();
    expect(bench.log.hashesCalls).toBe(0);
    expect(bench.dedup.stats()).toMatchObject({ partitions: 1, vouched: 2, unvouched: 1 });
  });

  it('is not kept for partitions whose ids the broker mints, but holds these too', async () => {
    const bench = indexed();
    const [minted] = await bench.push([{ partition: 'minted' }, { partition: 'minted' }]);
    expect([bench.log.verified, bench.dedup.stats().partitions]).toEqual([[NEVER], 0]);
    const given = { partition: 'minted', transactionId: minted.transactionId.toString() };
    expect(statusesOf(await bench.push([given]))).toEqual(['duplicate']);

    await bench.push([{ transactionId: 'a' }]);
    const [later] = await bench.push([{}]);
    expect(await verifiedBy(bench)).toBe(1);
    expect(statusesOf(await bench.push([{ transactionId: later.transactionId.toString() }]))).toEqual([
      'duplicate',
    ]);
  });

  it('names suspects, so that the verdict on repetitions needs no look at the window either', async () => {
    const bench = indexed();
    await bench.push(idsOf(5));
    const again = ['new', 't3', 't1', 'newer'].map((transactionId) => ({ transactionId }));
    expect(statusesOf(await bench.push(again))).toEqual(['queued', 'duplicate', 'duplicate', 'queued']);
    expect(bench.log.verified).toEqual([-1, 4, 4]);
    expect(bench.log.stored('q', 'p').slice(5)).toEqual(['new', 'newer']);
  });

  it('of a partition with messages is read in the background after the first push', async () => {
    const first = indexed();
    for (const id of idsOf(10)) await first.push([id]);
    const restarted = indexed(first.log);
    expect(await verifiedBy(restarted, 't3')).toBe(-1);
    await settled();
    expect(restarted.dedup.stats()).toMatchObject({ partitions: 1, rebuilt: 1 });
    expect(await verifiedBy(restarted)).toBe(9);
    expect(statusesOf(await restarted.push([{ transactionId: 't3' }]))).toEqual(['duplicate']);
    expect(restarted.log.hashesCalls).toBe(1);
  });

  it('helps already while it is being read, and goes on behind what was written meanwhile', async () => {
    const first = indexed();
    for (let n = 0; n < 4; n++) await first.push(idsOf(5_000, `${n} `).map((id) => ({ ...id })));
    const { log } = first;
    const bench = indexed(log);
    let calls = 0;
    let proceed!: () => void;
    const gate = new Promise<void>((resolve) => (proceed = resolve));
    log.beforeHashes = () => (++calls === 1 ? gate : undefined);
    await verifiedBy(bench);
    await first.push(idsOf(20, 'meanwhile '));
    expect(await verifiedBy(bench)).toBe(-1);
    proceed();
    await settled();
    await settled();
    expect(await verifiedBy(bench)).toBe(20_021);
    expect(statusesOf(await bench.push([{ transactionId: 'meanwhile 7' }]))).toEqual(['duplicate']);
  });

  it('leaves a few messages of another broker to PostgreSQL, and reads many', async () => {
    const a = indexed();
    const b = indexed(a.log);
    const { log } = a;
    await a.push(idsOf(1, 'first '));
    await b.push(idsOf(1, 'second '));
    await settled();
    log.hashesCalls = 0;
    expect(await verifiedBy(a)).toBe(0);
    expect(statusesOf(await a.push([{ transactionId: 'second 0' }]))).toEqual(['duplicate']);
    expect(log.hashesCalls).toBe(0);
    for (let n = 0; n < 8; n++) {
      await b.push([{ transactionId: `b${n}` }]);
      await a.push([{ transactionId: `a${n}` }]);
    }
    await settled();
    expect(log.hashesCalls).toBeGreaterThan(0);
    expect(log.hashesCalls).toBeLessThan(4);
    expect(log.verified.slice(-6).every((verified) => verified >= 0)).toBe(true);
    expect(a.dedup.stats().caughtUp + b.dedup.stats().caughtUp).toBe(log.hashesCalls);
    expect(statusesOf(await a.push([{ transactionId: 'b3' }]))).toEqual(['duplicate']);
  });

  it('stays right when a commit was lost from sight', async () => {
    const bench = indexed();
    await bench.push(idsOf(3));
    bench.log.lostAnswer = () => new BrokerError('statement_timeout');
    await bench.push(idsOf(40, 'lost ')).catch(() => undefined);
    bench.log.lostAnswer = () => null;
    expect(statusesOf(await bench.push(idsOf(41, 'lost ')))).toEqual([
      ...Array(40).fill('duplicate'),
      'queued',
    ]);
    await settled();
    expect(await verifiedBy(bench)).toBe(43);
  });

  it('is put aside when the partition was made anew elsewhere', async () => {
    const bench = indexed();
    const other = indexed(bench.log);
    await bench.push(idsOf(50));
    bench.log.deletePartition('q', 'p');
    await other.push(idsOf(60, 'other '));
    expect(statusesOf(await bench.push([{ transactionId: 'other 1' }, { transactionId: 't1' }]))).toEqual([
      'duplicate',
      'queued',
    ]);
    expect(bench.dedup.stats().putAside).toBe(1);
    await settled();
    expect(await verifiedBy(bench)).toBe(60);
  });

  it('learns nothing from a push to the partition that had the name before', async () => {
    const other = indexed();
    const { log } = other;
    await other.push(idsOf(5));
    const bench = indexed(log);
    const opens: (() => void)[] = [];
    const gate = () => new Promise<void>((resolve) => opens.push(resolve));
    log.beforeHashes = gate;
    await verifiedBy(bench); // its window is being read now
    log.deletePartition('q', 'p');
    await bench.push([{ transactionId: 'first of the second partition' }]);
    log.beforeAnswer = gate;
    const inFlight = bench.push([{ transactionId: 'x' }]);
    await settled();
    log.beforeAnswer = () => undefined;
    const [tenant, queue] = [DEFAULT_TENANT, 'q'];
    bench.events.queueDropped({ tenant, queue, key: queueKey(tenant, queue) });
    log.deletePartition('q', 'p');
    await other.push([{ transactionId: 'first of the third partition' }]);
    opens[0]();
    await settled();
    expect(bench.dedup.stats().partitions).toBe(1);
    opens[1]();
    expect(statusesOf(await inFlight)).toEqual(['queued']);
    await other.push([{ transactionId: 'y' }]);
    expect(statusesOf(await bench.push([{ transactionId: 'y' }]))).toEqual(['duplicate']);
    expect(log.verified.at(-1)).toBe(0);
  });

  it('is put aside when the window has been made longer, and does without one', async () => {
    const bench = indexed();
    const { log } = bench;
    log.windowSeconds = 60;
    await bench.push([{ transactionId: 'old' }]);
    log.nowMicros += 100_000_000;
    expect(statusesOf(await bench.push([{ transactionId: 'old' }, { transactionId: 'young' }]))).toEqual([
      'queued',
      'queued',
    ]);
    log.nowMicros += 100_000_000;
    await bench.push([{ transactionId: 'younger' }]);
    log.windowSeconds = 1000;
    const [{ resultId }] = await bench.push([{ transactionId: 'young' }]);
    await settled();
    expect(await verifiedBy(bench)).toBe(3);
    expect(bench.dedup.stats().putAside).toBe(1);

    log.windowSeconds = 0;
    expect(statusesOf(await bench.push([{ transactionId: 'young' }]))).toEqual(['queued']);
    await settled();
    expect(bench.dedup.stats().partitions).toBe(0);
    log.windowSeconds = 1000;
    // Stored twice by now: the first counts, whoever looks for it.
    for (const verified of [-1, 5]) {
      const [again] = await bench.push([{ transactionId: 'young' }]);
      expect([again.status, again.resultId, log.verified.at(-1)]).toEqual(['duplicate', resultId, verified]);
      await settled();
    }
  });

  it('takes an id again when its first message has left the window', async () => {
    const bench = indexed();
    const { log } = bench;
    log.windowSeconds = 64;
    for (let n = 0; n < 200; n++) {
      log.nowMicros += 1_000_000;
      expect(statusesOf(await bench.push([{ transactionId: `t${n % 70}` }]))).toEqual(['queued']);
    }
    expect(statusesOf(await bench.push([{ transactionId: 't59' }]))).toEqual(['duplicate']);
    expect(log.verified.slice(1).every((verified, n) => verified === n)).toBe(true);
  });

  it('goes with its queue', async () => {
    const bench = indexed();
    await bench.push([{ transactionId: 'x' }, { queue: 'other', transactionId: 'x' }]);
    const [tenant, queue] = [DEFAULT_TENANT, 'q'];
    bench.events.queueDropped({ tenant, queue, key: queueKey(tenant, queue) });
    expect(bench.dedup.stats().partitions).toBe(1);
    bench.log.deletePartition('q', 'p');
    expect(statusesOf(await bench.push([{ transactionId: 'x' }]))).toEqual(['queued']);
  });

  it('is dropped when what it reads does not follow, and made anew', async () => {
    const first = indexed();
    await first.push(idsOf(30));
    const bench = indexed(first.log);
    await verifiedBy(bench);
    await settled();
    for (const prefix of ['more ', 'still more ']) await first.push(idsOf(15, prefix));
    // The rows that would follow are purged.
    first.log.purgeHashes('q', 'p', 50);
    await bench.push([{ transactionId: 'x' }]);
    await settled();
    expect(bench.dedup.stats().partitions).toBe(0);
    await bench.push([{ transactionId: 'y' }]);
    await settled();
    expect(await verifiedBy(bench)).toBe(62);
  });

  it('costs time only when reading fails', async () => {
    const first = indexed();
    await first.push(idsOf(5));
    const bench = indexed(first.log);
    first.log.beforeHashes = () => {
      throw new BrokerError('pool');
    };
    await verifiedBy(bench);
    await settled();
    expect(statusesOf(await bench.push([{ transactionId: 't1' }]))).toEqual(['duplicate']);
    await settled();
    first.log.beforeHashes = () => undefined;
    await verifiedBy(bench);
    await settled();
    expect(await verifiedBy(bench)).toBe(6);
  });

  it('is read with others in one call', async () => {
    const first = indexed();
    const items = Array.from({ length: 100 }, (_, n) => ({ partition: `p${n}`, transactionId: 'x' }));
    await first.push(items);
    const bench = indexed(first.log);
    expect(statusesOf(await bench.push(items))).toEqual(Array(100).fill('duplicate'));
    await settled();
    expect(first.log.hashesCalls).toBeLessThanOrEqual(2);
    expect(bench.dedup.stats()).toMatchObject({ partitions: 100, rebuilt: 100 });
    first.log.verified.length = 0;
    await bench.push(items.map(({ partition }) => ({ partition, transactionId: 'y' })));
    expect(new Set(first.log.verified)).toEqual(new Set([0]));
  });

  it('that does not fit is not tried again and again', async () => {
    const first = indexed();
    for (let n = 0; n < 5; n++) await first.push(idsOf(5_000, `${n} `));
    const bench = pushBench({ dedupBytesMax: 256 * 1024 }, 8, first.log);
    for (let n = 0; n < 5; n++) {
      expect(await verifiedBy(bench)).toBe(-1);
      await settled();
    }
    expect(first.log.hashesCalls).toBe(1);
    expect(bench.dedup.stats()).toMatchObject({ partitions: 0, bytes: 0 });
    expect(statusesOf(await bench.push([{ transactionId: '3 77' }]))).toEqual(['duplicate']);
  });

  it('is not there when it is switched off', async () => {
    const bench = pushBench({ dedupBytesMax: 0 });
    for (const id of idsOf(5)) await bench.push([id]);
    await settled();
    expect(bench.log.verified).toEqual(Array(5).fill(-1));
    expect(bench.log.hashesCalls).toBe(0);
  });
});
