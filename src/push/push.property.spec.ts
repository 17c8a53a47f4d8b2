import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { pushBench, settled } from '../../test/support/push.js';
import { BrokerError } from '../base/errors/broker-error.js';
import { SqlStatementError } from '../raw-sql/sql-failure.js';
import { uuidText } from '../segment/uuid-v7.js';
import type { PushResult } from './push-message.js';

const oneItem = fc.record({
  partition: fc.constantFrom('a', 'b', 'c'),
  transactionId: fc.option(fc.constantFrom('t0', 't1', 't2', 't3', 't4', 't5')),
});
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ push: fc.array(oneItem, { minLength: 1, maxLength: 8 }) }) },
  { weight: 2, arbitrary: fc.constant('hold' as const) },
  { weight: 2, arbitrary: fc.constant('release' as const) },
  { weight: 2, arbitrary: fc.constant('settle' as const) },
  { weight: 1, arbitrary: fc.record({ fail: fc.constantFrom('refusal', 'deadlock', 'away') }) },
);

function failureOf(kind: string): Error {
  if (kind === 'away') return new BrokerError('database_unavailable');
  return new SqlStatementError(kind === 'deadlock' ? '40P01' : '22021', 'refused', null);
}

describe('push', () => {
  it('stores each transactionId of a partition once, in order of arrival, and tells everybody where', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 25 }),
        fc.integer({ min: 1, max: 3 }),
        async (steps, most) => {
          const { push, log, clock, limiter, offers, service } = pushBench({ bundlePartitionsMax: most });
          let release: () => void = () => undefined;
          let failures: Error[] = [];
          log.failure = () => failures.shift();
          let arrivals = 0;
          const requests: Promise<void>[] = [];
          const told: { partition: string; arrival: number; given: string | null; result: PushResult }[] = [];

          for (const one of steps) {
            if (one === 'hold') {
              release();
              release = log.hold();
            } else if (one === 'release') release();
            else if (one === 'settle') await settled();
            else if ('fail' in one) failures.push(failureOf(one.fail));
            else {
              const first = arrivals;
              arrivals += one.push.length;
              const request = push(one.push).then(
                (results) =>
                  results.forEach((result, k) => {
                    const { partition, transactionId } = one.push[k];
                    told.push({ partition, arrival: first + k, given: transactionId, result });
                  }),
                (error: unknown) => expect(error).toBeInstanceOf(BrokerError),
              );
              requests.push(request);
            }
          }
          release();
          for (let round = 0; round < 20; round++) {
            await settled();
            clock.advance(50);
          }
          await Promise.all(requests);
          await settled();

          for (const partition of ['a', 'b', 'c']) {
            const stored = log.stored('q', partition);
            const storedIds = log.storedIds('q', partition);
            expect(new Set(stored).size).toBe(stored.length);
            const here = told.filter((one) => one.partition === partition);
            const queued = here.filter(({ result }) => result.status === 'queued');
            queued.sort((x, y) => x.arrival - y.arrival);
            const positions = queued.map(({ result }) => storedIds.indexOf(uuidText(result.resultId)));
            expect(positions).not.toContain(-1);
            expect([...positions].sort((x, y) => x - y)).toEqual(positions);
            for (const { given, result } of here) {
              if (result.status === 'duplicate')
                expect(uuidText(result.resultId)).toBe(storedIds[stored.indexOf(given!)]);
            }
            const offered = offers.filter((offer) => offer.partition === partition);
            expect(offered.reduce((sum, { count }) => sum + count, 0)).toBe(stored.length);
          }
          expect(service.stats()).toMatchObject({ inFlight: 0, partitions: 0, bufferedBytes: 0 });
          expect(limiter.stats().push).toMatchObject({ inFlight: 0, waiting: 0 });
          expect(log.connections).toBe(0);
          failures = [];
        },
      ),
      { numRuns: 150 },
    );
  });
});
