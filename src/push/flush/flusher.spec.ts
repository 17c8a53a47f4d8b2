import { randomBytes } from 'node:crypto';
import { describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { pushBench, settled, type PushBench } from '../../../test/support/push.js';
import { BrokerError } from '../../base/errors/broker-error.js';
import { SqlStatementError } from '../../raw-sql/sql-failure.js';
import { uuidText } from '../../segment/uuid-v7.js';
import type { PushResult } from '../push-message.js';

const refusal = (sqlState: string) => new SqlStatementError(sqlState, 'refused', null);
const statusesOf = (results: PushResult[][]) => results.flat().map(({ status }) => status);
const idOf = ([result]: PushResult[]) => uuidText(result.resultId);

/** Occupies all flushes with pushes to partitions of their own, held inside the statement. */
async function busy({ push, log }: PushBench): Promise<{ release: () => void; done: Promise<unknown> }> {
  const release = log.hold();
  const first = push([{ partition: 'busy 1' }]);
  await settled();
  const second = push([{ partition: 'busy 2' }]);
  await settled();
  expect(log.flushes).toHaveLength(2);
  return { release, done: Promise.all([first, second]) };
}

describe('Flusher', () => {
  it('sends a push on a quiet broker at once, as one statement', async () => {
    const { push, log, clock } = pushBench();
    await push([{}]);
    expect(log.flushes).toEqual([['q/p']]);
    expect(clock.pendingTimers).toBe(0);
  });

  it('sends together what arrives together', async () => {
    const { push, log } = pushBench();
    await Promise.all(Array.from({ length: 10 }, (_, n) => push([{ partition: `p${n % 5}` }])));
    expect(log.flushes).toHaveLength(1);
    expect(log.segmentSizes('q', 'p0')).toEqual([2]);
  });

  it('gathers what arrives while a flush of the partition is in flight into one more', async () => {
    const { push, log } = pushBench();
    const release = log.hold();
    const first = push([{ transactionId: 'first' }]);
    await settled();
    const names = Array.from({ length: 1_000 }, (_, n) => `t${n}`);
    const others = names.map((transactionId) => push([{ transactionId }]));
    await settled();
    expect(log.flushes).toHaveLength(1);
    release();
    await Promise.all([first, ...others]);
    expect(log.flushes).toHaveLength(2);
    expect(log.stored('q', 'p')).toEqual(['first', ...names]);
  });

  it('has at most the allowed number of flushes in flight, whatever is ready', async () => {
    const bench = pushBench({ bundlePartitionsMax: 2 });
    const { release, done } = await busy(bench);
    const others = Array.from({ length: 10 }, (_, n) => bench.push([{ partition: `p${n}` }]));
    await settled();
    expect(bench.log.connections).toBe(2);
    expect(bench.flusher.stats()).toMatchObject({ inFlight: 2, partitions: 12 });
    release();
    await Promise.all([done, ...others]);
    expect(bench.log.connectionsMost).toBe(2);
    expect(bench.log.flushes).toHaveLength(2 + 5);
    expect(bench.flusher.stats()).toMatchObject({ inFlight: 0, partitions: 0 });
  });

  it('commits 64 partitions that wait in as few flushes as the bound allows', async () => {
    const bench = pushBench({ bundlePartitionsMax: 16 });
    const { release, done } = await busy(bench);
    const others = Array.from({ length: 64 }, (_, n) => bench.push([{ partition: `p${n}` }]));
    release();
    await Promise.all([done, ...others]);
    expect(bench.log.flushes).toHaveLength(2 + 4);
  });

  it('sends the partition that waited longest first, and sorts each flush by key', async () => {
    const bench = pushBench({ bundlePartitionsMax: 2, flushesInFlightMax: 1 });
    const release = bench.log.hold();
    const all = [bench.push([{ partition: 'busy' }])];
    await settled();
    for (const partition of ['z', 'b', 'y', 'a']) all.push(bench.push([{ partition }]));
    release();
    await Promise.all(all);
    expect(bench.log.flushes).toEqual([['q/busy'], ['q/b', 'q/z'], ['q/a', 'q/y']]);
  });

  it('splits what is too much for a segment, in order', async () => {
    const { push, log } = pushBench();
    const items = Array.from({ length: 12_000 }, (_, n) => ({ transactionId: `t${n}` }));
    await push(items);
    expect(log.segmentSizes('q', 'p')).toEqual([5_000, 5_000, 2_000]);
    expect(log.stored('q', 'p')).toEqual(items.map(({ transactionId }) => transactionId));
    const payload = Buffer.alloc(1_500_000, 0x31);
    await push(Array.from({ length: 5 }, () => ({ partition: 'large', payload })));
    expect(log.segmentSizes('q', 'large')).toEqual([2, 2, 1]);
  });

  it('resolves a request over several partitions once, after the last of them', async () => {
    const bench = pushBench({ bundlePartitionsMax: 1, flushesInFlightMax: 1 });
    const release = bench.log.hold();
    let answers = 0;
    const request = bench
      .push(Array.from({ length: 5 }, (_, n) => ({ partition: `p${n}` })))
      .then((results) => ((answers += 1), results));
    await settled();
    expect([bench.log.flushes.length, answers]).toEqual([1, 0]);
    release();
    expect(statusesOf([await request])).toEqual(Array(5).fill('queued'));
    expect([bench.log.flushes.length, answers]).toEqual([5, 1]);
  });

  it('offers each partition with its number of messages before anybody is answered', async () => {
    const bench = pushBench();
    const seen: number[] = [];
    const requests = [0, 1, 2].map((n) =>
      bench.push([{ partition: `p${n % 2}` }]).then(() => void seen.push(bench.offers.length)),
    );
    await Promise.all(requests);
    expect(seen).toEqual([2, 2, 2]);
    expect(bench.offers).toEqual([
      { queue: 'q', partition: 'p0', count: 2 },
      { queue: 'q', partition: 'p1', count: 1 },
    ]);
  });

  it('offers nothing for a partition that got nothing', async () => {
    const { push, offers, log } = pushBench();
    await push([{ transactionId: 'x' }]);
    offers.length = 0;
    await push([{ transactionId: 'x' }]);
    log.failure = () => new BrokerError('pool');
    await push([{ partition: 'bad' }]).catch(() => undefined);
    expect(offers).toEqual([]);
  });

  describe('duplicates', () => {
    it('of concurrent requests: exactly one is queued, the others show its id', async () => {
      const { push, log } = pushBench();
      const results = await Promise.all(Array.from({ length: 8 }, () => push([{ transactionId: 'x' }])));
      expect(statusesOf(results)).toEqual(['queued', ...Array(7).fill('duplicate')]);
      expect(new Set(results.map(idOf)).size).toBe(1);
      expect(log.stored('q', 'p')).toEqual(['x']);
    });

    it('of a stored message show its id; the others of their segment are stored in order', async () => {
      const { push, log } = pushBench();
      const [a, b] = [await push([{}, { transactionId: 'a' }]), await push([{ transactionId: 'b' }, {}])];
      const results = await push(['1', 'b', '2', 'a', '3'].map((transactionId) => ({ transactionId })));
      expect(statusesOf([results])).toEqual(['queued', 'duplicate', 'queued', 'duplicate', 'queued']);
      expect(uuidText(results[1].resultId)).toBe(uuidText(b[0].resultId));
      expect(uuidText(results[3].resultId)).toBe(uuidText(a[1].resultId));
      expect(log.stored('q', 'p').slice(4)).toEqual(['1', '2', '3']);
      expect(log.flushes).toHaveLength(4);
    });

    it('do not hold up the other partitions of the flush', async () => {
      const { push, log } = pushBench();
      await push([{ transactionId: 'x' }]);
      const results = await Promise.all([push([{ transactionId: 'x' }]), push([{ partition: 'other' }])]);
      expect(statusesOf(results)).toEqual(['duplicate', 'queued']);
      expect(log.flushes).toHaveLength(2);
    });

    it('leave survivors that go before later arrivals, and alone', async () => {
      const { push, log } = pushBench();
      await push([{ transactionId: 'x' }]);
      const release = log.hold();
      const early = push([
        { transactionId: 'early 1' },
        { transactionId: 'x' },
        { transactionId: 'early 2' },
      ]);
      await settled();
      const late = push([{ transactionId: 'late' }]);
      await settled();
      release();
      await Promise.all([early, late]);
      expect(log.stored('q', 'p')).toEqual(['x', 'early 1', 'early 2', 'late']);
      expect(log.segmentSizes('q', 'p')).toEqual([1, 2, 1]);
    });

    it('have the nil id when the original is gone, and when it cannot be read', async () => {
      const { push, log } = pushBench();
      await push([{ transactionId: 'gone' }, { transactionId: 'there' }]);
      log.beforeOriginals = () => {
        throw new BrokerError('pool');
      };
      const unread = await push([{ transactionId: 'there' }]);
      log.beforeOriginals = () => undefined;
      log.dropSegments('q', 'p');
      const gone = await push([{ transactionId: 'gone' }]);
      expect(statusesOf([unread, gone])).toEqual(['duplicate', 'duplicate']);
      expect([idOf(unread), idOf(gone)]).toEqual(Array(2).fill('00000000-0000-0000-0000-000000000000'));
    });

    it('of many partitions share the calls for their originals, which hold one connection and no permit', async () => {
      const { push, log, limiter } = pushBench();
      const items = Array.from({ length: 200 }, (_, n) => ({
        partition: `p${n % 100}`,
        transactionId: `t${n}`,
      }));
      const first = await push(items);
      let proceed!: () => void;
      const gate = new Promise<void>((resolve) => (proceed = resolve));
      log.beforeOriginals = () => gate;
      const again = push([...items].reverse());
      await settled();
      expect([log.connections, limiter.stats().push.inFlight]).toEqual([1, 0]);
      proceed();
      expect(statusesOf([await again])).toEqual(Array(200).fill('duplicate'));
      expect((await again).map(({ resultId }) => resultId)).toEqual(
        first.map(({ resultId }) => resultId).reverse(),
      );
      expect(log.originalsCalls).toBe(2); // of the first flush, and of all that came meanwhile
    });

    it('of a damaged segment have the nil id, and cost the others of the call nothing', async () => {
      const { push, log } = pushBench();
      const items = ['a', 'b', 'c'].map((partition) => ({ partition, transactionId: 'x' }));
      const first = await push(items);
      log.damage('q', 'b');
      const again = await push(items);
      expect(log.originalsCalls).toBe(2); // of the first partition, and of both others
      expect(again.map(({ resultId }) => resultId)).toEqual([
        first[0].resultId,
        Buffer.alloc(16),
        first[2].resultId,
      ]);
    });

    it('have the nil id when another message stands in the place of the original', async () => {
      const { push, log } = pushBench();
      await push([{ transactionId: 'x' }, { transactionId: 'y' }]);
      await push([{ transactionId: 'y', partition: 'other' }, { partition: 'other' }]);
      log.replaceSegments('q', 'p', 'other');
      const results = await push([{ transactionId: 'x' }, { transactionId: 'y' }]);
      expect(statusesOf([results])).toEqual(['duplicate', 'duplicate']);
      expect(results.map(({ resultId }) => resultId)).toEqual([Buffer.alloc(16), Buffer.alloc(16)]);
    });

    it('fetch their originals in few calls of bounded size, however many there are', async () => {
      const { push, log } = pushBench();
      const name = (n: number) => ({ transactionId: `t${n}` });
      for (let n = 0; n < 300; n++) await push([name(n)]);
      for (let n = 300; n < 306; n++) await push([{ ...name(n), payload: randomBytes(3 * 1024 * 1024) }]);
      const first = log.storedIds('q', 'p');
      log.originalsCalls = 0;
      const again = await push(first.map((_, n) => name(first.length - 1 - n)));
      expect(again.map(({ resultId }) => uuidText(resultId))).toEqual([...first].reverse());
      expect(log.originalsCalls).toBe(2);
    });

    it('are not looked for where the broker made every id itself', async () => {
      const { push, log } = pushBench();
      await push([{}, {}]);
      await push([{}, { transactionId: 'x' }]);
      expect(log.verified).toEqual([Number.MAX_SAFE_INTEGER, -1]);
    });

    it('do not keep survivors waiting for ever behind a stream of further duplicates', async () => {
      const { push, log } = pushBench();
      await push([{ transactionId: 'x' }]);
      const release = log.hold();
      const survivor = push([{ transactionId: 'new' }, { transactionId: 'x' }]);
      await settled();
      const noise = [0, 1, 2].map(() => push([{ transactionId: 'x' }]));
      release();
      await Promise.all([survivor, ...noise]);
      expect(log.flushes).toHaveLength(4); // x; new + x; new; x
    });
  });

  describe('failures', () => {
    it('fail one partition that PostgreSQL refuses, and none of its neighbours', async () => {
      const bench = pushBench({ bundlePartitionsMax: 16 });
      bench.log.failure = (segments) =>
        segments.some(({ target }) => target.partition === 'p7') ? refusal('22021') : null;
      const results = await bench.push(Array.from({ length: 16 }, (_, n) => ({ partition: `p${n}` })));
      const statuses = statusesOf([results]);
      expect(statuses.splice(7, 1)).toEqual(['failed']);
      expect(statuses).toEqual(Array(15).fill('queued'));
      expect(results[7].failure).toMatchObject({ code: 'sql_failed' });
      expect(bench.log.flushes).toHaveLength(17);
    });

    it('stop sending one by one when the database goes away meanwhile', async () => {
      const bench = pushBench();
      const gone = new BrokerError('database_unavailable');
      bench.log.failure = (segments) => {
        if (segments.length > 1) return refusal('22021');
        return segments[0].target.partition === 'p0' ? null : gone;
      };
      const results = await bench.push(Array.from({ length: 8 }, (_, n) => ({ partition: `p${n}` })));
      expect(statusesOf([results])).toEqual(['queued', ...Array(7).fill('failed')]);
      expect(bench.log.flushes).toHaveLength(3);
    });

    it.each(['40P01', '40001', '55P03', 'QGONE'])(
      'try a flush again after %s, and nobody notices',
      async (state) => {
        const { push, log, clock } = pushBench();
        let failures = 3;
        log.failure = () => (failures-- > 0 ? refusal(state) : null);
        const request = push([{ partition: 'a' }, { partition: 'b' }]);
        for (let attempt = 0; attempt < 3; attempt++) {
          await settled();
          expect(log.flushes).toHaveLength(attempt + 1);
          expect(log.connections).toBe(0);
          clock.advance(50);
        }
        expect(statusesOf([await request])).toEqual(['queued', 'queued']);
        expect(log.flushes).toHaveLength(4);
      },
    );

    it('give up on a deadlock that does not end', async () => {
      const { push, log, clock, limiter } = pushBench();
      log.failure = () => refusal('40P01');
      const request = push([{}]).catch((error: unknown) => error);
      for (let attempt = 0; attempt < 3; attempt++) {
        await settled();
        clock.advance(50);
      }
      expect(await request).toMatchObject({ code: 'sql_failed' });
      await settled();
      expect(log.flushes).toHaveLength(4);
      expect(limiter.stats().push.inFlight).toBe(0);
    });

    it.each(['statement_timeout', 'database_unavailable', 'pool'] as const)(
      'of kind %s fail the whole flush once, and leave its partitions free',
      async (code) => {
        const { push, log, limiter } = pushBench();
        log.failure = () => new BrokerError(code);
        await expect(push([{ partition: 'a' }, { partition: 'b' }])).rejects.toMatchObject({ code });
        expect(log.flushes).toHaveLength(1);
        log.failure = () => null;
        expect(statusesOf([await push([{ partition: 'a' }, { partition: 'b' }])])).toEqual([
          'queued',
          'queued',
        ]);
        await settled();
        expect(limiter.stats().push.inFlight).toBe(0);
        expect(limiter.stats().push.timeouts).toBe(code === 'statement_timeout' ? 1 : 0);
      },
    );

    it('keep what waited behind them: it is sent next', async () => {
      const { push, log } = pushBench();
      const release = log.hold();
      let failures = 1;
      log.failure = () => (failures-- > 0 ? new BrokerError('statement_timeout') : null);
      const first = push([{ transactionId: 'lost' }]).catch((error: unknown) => error);
      await settled();
      const second = push([{ transactionId: 'kept' }]);
      await settled();
      release();
      expect(await first).toMatchObject({ code: 'statement_timeout' });
      expect(statusesOf([await second])).toEqual(['queued']);
      expect(log.stored('q', 'p')).toEqual(['kept']);
    });

    it('leave the SQLSTATE in the log, once for many', async () => {
      const { push, log, clock } = pushBench();
      const error = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
      log.failure = () => refusal('22021');
      const fail = () => push([{}]).catch(() => undefined);
      for (let n = 0; n < 5; n++) await fail();
      expect(error.mock.calls).toEqual([['push statement failed: 22021 refused']]);
      clock.advance(10_000);
      await fail();
      expect(error).toHaveBeenCalledTimes(2);
      error.mockRestore();
    });

    it('of our own making are answered as well', async () => {
      const { push, log } = pushBench();
      log.failure = () => new TypeError('a bug');
      await expect(push([{}])).rejects.toMatchObject({ code: 'internal' });
    });
  });

  describe('permits and connections', () => {
    it('holds a permit whenever it asks for a connection, and none in the end', async () => {
      const bench = pushBench({ flushesInFlightMax: 4, bundlePartitionsMax: 1 });
      const permits: number[] = [];
      bench.log.onConnect = () => void permits.push(bench.limiter.stats().push.inFlight);
      await bench.push([{ transactionId: 'x' }]);
      await bench.push(Array.from({ length: 9 }, (_, n) => ({ partition: `p${n}`, transactionId: 'x' })));
      await bench.push([{ transactionId: 'x' }]);
      await settled();
      expect(permits).toHaveLength(1 + 9 + 1);
      expect(Math.min(...permits)).toBeGreaterThanOrEqual(1);
      expect(bench.limiter.stats().push.inFlight).toBe(0);
    });

    it('tells the lane the time of the statement, without the wait for a connection', async () => {
      const { push, log, limiter, clock, service } = pushBench();
      log.onConnect = () => clock.advance(70);
      log.failure = () => void clock.advance(3);
      await push([{}]);
      await push([{}]);
      expect(limiter.stats().push.rttMs).toBe(3);
      expect(service.stats().rttMs).toBe(6);
    });

    it('gathers while no permit is free, and sends everything with the first', async () => {
      const { push, log, limiter } = pushBench({}, 1);
      const taken = limiter.tryAcquire('push')!;
      const requests = [];
      for (let n = 0; n < 20; n++) {
        requests.push(push([{ partition: `p${n}` }]));
        await settled();
      }
      expect(limiter.stats().push.waiting).toBe(1);
      taken.release();
      await Promise.all(requests);
      expect(log.flushes.map((flush) => flush.length)).toEqual([20]);
    });

    it('answers 503 to everybody who waits when no permit came free in time, and goes on', async () => {
      const { push, log, limiter, clock } = pushBench({}, 1);
      const taken = limiter.tryAcquire('push')!;
      const requests = [push([{}]), push([{ partition: 'b' }])].map((one) =>
        one.catch((error: unknown) => error),
      );
      await settled();
      clock.advance(5_000);
      expect(await Promise.all(requests)).toMatchObject([{ code: 'overloaded' }, { code: 'overloaded' }]);
      taken.release();
      expect(statusesOf([await push([{}])])).toEqual(['queued']);
      expect(log.flushes).toEqual([['q/p']]);
    });
  });
});
