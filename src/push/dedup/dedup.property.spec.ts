import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { FakeLog, pushBench, settled, type PushBench } from '../../../test/support/push.js';
import { DEFAULT_TENANT } from '../../base/names/names.js';
import { BrokerError } from '../../base/errors/broker-error.js';
import { queueKey } from '../../base/queue-key.js';
import { SqlStatementError } from '../../raw-sql/sql-failure.js';
import { uuidText } from '../../segment/uuid-v7.js';
import type { PushItem } from '../push-item.js';
import type { PushResult } from '../push-message.js';

/*
 * Two brokers that keep indexes, over one log, against two that keep none, over another: whatever is pushed, and whatever
 * goes wrong meanwhile, every message gets the same verdict, and both logs hold the same.
 */

const oneItem = fc.record({
  partition: fc.constantFrom('a', 'b'),
  id: fc.oneof(
    { weight: 6, arbitrary: fc.nat(20).map((n) => `t${n}`) },
    { weight: 1, arbitrary: fc.constant(null) },
    // The id of an earlier message whose id the broker minted.
    { weight: 1, arbitrary: fc.nat(5) },
  ),
});
const broker = fc.nat(1);
const step = fc.oneof(
  { weight: 12, arbitrary: fc.record({ push: fc.array(oneItem, { minLength: 1, maxLength: 6 }), broker }) },
  {
    weight: 3,
    arbitrary: fc.record({ together: fc.array(oneItem, { minLength: 2, maxLength: 5 }), broker }),
  },
  { weight: 3, arbitrary: fc.record({ many: fc.integer({ min: 1, max: 40 }), broker }) },
  { weight: 4, arbitrary: fc.constant('settle' as const) },
  { weight: 3, arbitrary: fc.record({ seconds: fc.integer({ min: 1, max: 80 }) }) },
  { weight: 2, arbitrary: fc.record({ restart: broker }) },
  { weight: 1, arbitrary: fc.record({ windowSeconds: fc.constantFrom(0, 30, 100, 1000) }) },
  { weight: 1, arbitrary: fc.record({ deleteBy: broker }) },
  { weight: 1, arbitrary: fc.record({ purge: fc.nat(60) }) },
  { weight: 2, arbitrary: fc.record({ fail: fc.constantFrom('before', 'after', 'refused', 'reading') }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

class World {
  readonly log = new FakeLog();
  readonly brokers: PushBench[];
  private readonly minted: string[] = [];
  private serial = 0;

  constructor(private readonly dedupBytesMax: number) {
    this.log.windowSeconds = 100;
    this.brokers = [this.start(), this.start()];
  }

  start(): PushBench {
    return pushBench({ dedupBytesMax: this.dedupBytesMax }, 8, this.log);
  }

  /** Each item's verdict; of a duplicate, the place of the original in the log. */
  async take(one: Step): Promise<unknown> {
    const { log } = this;
    if (one === 'settle') await settled();
    else if ('push' in one) return this.push(one.broker, one.push);
    else if ('together' in one) return Promise.all(one.together.map((item) => this.push(one.broker, [item])));
    else if ('many' in one) {
      const items = Array.from({ length: one.many }, () => ({ partition: 'a', id: `m${this.serial++}` }));
      return this.push(one.broker, items);
    } else if ('seconds' in one) {
      log.nowMicros += one.seconds * 1_000_000;
      for (const { clock } of this.brokers) clock.advance(one.seconds * 1000);
    } else if ('restart' in one) this.brokers[one.restart] = this.start();
    else if ('windowSeconds' in one) log.windowSeconds = one.windowSeconds;
    else if ('deleteBy' in one) {
      log.deletePartition('q', 'a');
      log.deletePartition('q', 'b');
      const [tenant, queue] = [DEFAULT_TENANT, 'q'];
      this.brokers[one.deleteBy].events.queueDropped({ tenant, queue, key: queueKey(tenant, queue) });
    } else if ('purge' in one) log.purgeHashes('q', 'a', one.purge);
    else this.fail(one.fail);
    return null;
  }

  private fail(kind: string): void {
    const { log } = this;
    const once = (error: Error) => {
      let left = 1;
      return () => (left-- > 0 ? error : null);
    };
    if (kind === 'before') log.failure = once(new BrokerError('statement_timeout'));
    else if (kind === 'after') log.lostAnswer = once(new BrokerError('database_unavailable'));
    else if (kind === 'refused') log.failure = once(new SqlStatementError('22021', 'refused', null));
    else {
      const next = once(new BrokerError('pool'));
      log.beforeHashes = () => {
        const error = next();
        if (error) throw error;
      };
    }
  }

  private async push(
    by: number,
    items: { partition: string; id: string | number | null }[],
  ): Promise<unknown> {
    const sent = items.map(({ partition, id }): Partial<PushItem> => {
      const transactionId = typeof id === 'number' ? (this.minted[id] ?? `early ${id}`) : id;
      return { partition, transactionId };
    });
    let results: PushResult[];
    try {
      results = await this.brokers[by].push(sent);
    } catch (error) {
      return (error as BrokerError).code;
    }
    return results.map(({ status, resultId, transactionId, failure }, k) => {
      if (status === 'queued' && sent[k].transactionId === null) this.minted.push(transactionId.toString());
      const place = this.log.storedIds('q', items[k].partition).indexOf(uuidText(resultId));
      return `${status} ${failure?.code ?? place}`;
    });
  }

  stored(): unknown {
    return ['a', 'b'].map((partition) => this.log.segmentSizes('q', partition));
  }
}

describe('a broker with dedup indexes', () => {
  it.each([
    ['enough memory', 1024 * 1024],
    ['memory for one partition or none', 3 * 1024],
  ])(
    'gives the verdicts of one without, with %s',
    async (_, dedupBytesMax) => {
      let vouched = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 60 }), async (steps) => {
          const [indexed, plain] = [new World(dedupBytesMax), new World(0)];
          for (const [n, one] of steps.entries()) {
            const expected = await plain.take(one);
            expect({ n, answer: await indexed.take(one) }).toEqual({ n, answer: expected });
          }
          expect(indexed.stored()).toEqual(plain.stored());
          await settled();
          for (const { dedup } of indexed.brokers) {
            vouched += dedup.stats().vouched;
            expect(dedup.stats().bytes).toBeLessThanOrEqual(dedupBytesMax);
          }
        }),
        { numRuns: 250 },
      );
      expect(vouched).toBeGreaterThan(200);
    },
    120_000,
  );
});
