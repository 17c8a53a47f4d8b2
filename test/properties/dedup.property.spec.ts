import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import fc from 'fast-check';
import { parseEnvironment } from '../../src/base/config/environment.js';
import { BrokerError } from '../../src/base/errors/broker-error.js';
import { queueKey } from '../../src/base/queue-key.js';
import { databaseFrom } from '../../src/boot/database-from.js';
import type { PushItem } from '../../src/push/push-item.js';
import type { PushResult } from '../../src/push/push-message.js';
import type { SqlConnection } from '../../src/raw-sql/connection-lease.js';
import { RawSqlService } from '../../src/raw-sql/raw-sql.service.js';
import { decodeSegment } from '../../src/segment/segment.js';
import { uuidText } from '../../src/segment/uuid-v7.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { ageSegments, makeQueue, pushMessages, run, TENANT } from '../support/make.js';
import { pushStack, settled, type PushStack } from '../support/push.js';

/*
 * Two brokers with dedup indexes against two without, each pair on a queue of its own in one database: the same steps get
 * the same verdicts, and leave the same log (I27, I28). Whoever writes besides them, whatever they forget and whatever
 * becomes of a commit, an index may only ever save time.
 */

let db: TestDatabase;
let sql: RawSqlService;
let runs = 0;

beforeAll(async () => {
  Logger.overrideLogger(false); // lost commits are part of it
  db = await createTestDatabase();
  sql = new RawSqlService(databaseFrom(parseEnvironment({ DATABASE_URL: db.url, DB_POOL_SIZE: '8' })));
  await sql.onModuleInit();
});

afterAll(async () => {
  await sql.onApplicationShutdown();
  await db.drop();
});

const PARTITIONS = ['a', 'b'];
const oneItem = fc.record({
  partition: fc.constantFrom(...PARTITIONS),
  // A number: the id of an earlier message whose id the broker minted.
  id: fc.oneof(
    { weight: 6, arbitrary: fc.nat(25).map((n) => `t${n}`) },
    { weight: 1, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.nat(5) },
  ),
});
const by = fc.nat(1);
const step = fc.oneof(
  { weight: 12, arbitrary: fc.record({ push: fc.array(oneItem, { minLength: 1, maxLength: 6 }), by }) },
  { weight: 4, arbitrary: fc.record({ many: fc.integer({ min: 1, max: 40 }), by }) },
  { weight: 2, arbitrary: fc.record({ besides: fc.nat(25) }) },
  { weight: 3, arbitrary: fc.record({ seconds: fc.integer({ min: 10, max: 80 }) }) },
  { weight: 2, arbitrary: fc.record({ restart: by }) },
  { weight: 1, arbitrary: fc.record({ windowSeconds: fc.constantFrom(0, 60, 100, 1000) }) },
  { weight: 1, arbitrary: fc.record({ deleteBy: by }) },
  { weight: 2, arbitrary: fc.record({ fault: fc.constantFrom('before', 'after'), by }) },
  { weight: 3, arbitrary: fc.constant('quiet' as const) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

interface Broker extends PushStack {
  /** What the next push statement meets: an error before it is sent, or when it is committed. */
  fault: 'before' | 'after' | null;
}

class World {
  private readonly brokers: Broker[];
  private readonly minted: string[] = [];
  private readonly placeById = new Map<string, string>();
  private deleted = 0;
  private serial = 0;

  constructor(
    private readonly queue: string,
    private readonly dedupBytesMax: number,
  ) {
    this.brokers = [this.start(), this.start()];
  }

  get vouched(): number {
    return this.brokers.reduce((sum, { dedup }) => sum + dedup.stats().vouched, 0);
  }

  /** Verdicts; with each the id of the message it names. */
  async take(one: Step): Promise<readonly (readonly [verdict: string, id: string])[]> {
    const { queue, brokers } = this;
    if (one === 'quiet') {
      // Reads in the background end: nothing but them uses a connection now.
      do await settled();
      while (sql.stats().idle < sql.stats().total);
    } else if ('push' in one) {
      const items = one.push.map(({ partition, id }) => {
        const transactionId = typeof id === 'number' ? (this.minted[id] ?? `early ${id}`) : id;
        return { queue, partition, transactionId };
      });
      return this.push(one.by, items);
    } else if ('many' in one) {
      const ids = Array.from({ length: one.many }, () => `m${this.serial++}`);
      return this.push(
        one.by,
        ids.map((transactionId) => ({ queue, partition: 'a', transactionId })),
      );
    } else if ('besides' in one) {
      const { status } = await pushMessages(db, queue, 'a', [`t${one.besides}`]);
      return [[status, '']];
    } else if ('seconds' in one) {
      for (const partition of PARTITIONS) await ageSegments(db, queue, partition, one.seconds);
    } else if ('restart' in one) brokers[one.restart] = this.start();
    else if ('windowSeconds' in one) await makeQueue(db, queue, { dedupWindowSeconds: one.windowSeconds });
    else if ('deleteBy' in one) {
      await this.findPlaces();
      this.deleted += 1;
      await run(db, ['select queen.delete_queue_v1($1)', [queue]]);
      brokers[one.deleteBy].events.queueDropped({ tenant: TENANT, queue, key: queueKey(TENANT, queue) });
    } else brokers[one.by].fault = one.fault;
    return [];
  }

  /** Where messages are, by id: the order in which a partition holds them is the same in both worlds. */
  async findPlaces(): Promise<Map<string, string>> {
    for (const partition of PARTITIONS) {
      const rows = await run(db, [
        `select s.base_offset, s.end_offset, s.blob from queen.log_segments s
           join queen.log_partitions p on p.id = s.partition_id join queen.queues q on q.id = p.queue_id
          where q.name = $1 and p.name = $2 order by s.base_offset`,
        [this.queue, partition],
      ]);
      for (const row of rows) {
        const base = Number(row.base_offset);
        const { blob } = row as { blob: Buffer };
        for (const [k, frame] of decodeSegment(blob, Number(row.end_offset) - base + 1)
          .frames()
          .entries()) {
          this.placeById.set(uuidText(frame.messageId), `${partition} ${this.deleted}: ${base + k}`);
        }
      }
    }
    return this.placeById;
  }

  private start(): Broker {
    const broker: Broker = Object.assign(
      pushStack(
        this.faulty(() => broker),
        { dedupBytesMax: this.dedupBytesMax },
      ),
      { fault: null },
    );
    return broker;
  }

  /** Pushes go through `withConnection`, everything else through `call`. */
  private faulty(broker: () => Broker): RawSqlService {
    const withConnection = async <T>(gone: AbortSignal | null, use: (on: SqlConnection) => Promise<T>) => {
      const { fault } = broker();
      broker().fault = null;
      if (fault === 'before') throw new BrokerError('database_unavailable');
      const result = await sql.withConnection(gone, use);
      if (fault === 'after') throw new BrokerError('statement_timeout');
      return result;
    };
    return { withConnection, call: sql.call.bind(sql) } as Partial<RawSqlService> as RawSqlService;
  }

  private async push(by: number, items: Partial<PushItem>[]): Promise<[string, string][]> {
    let results: PushResult[];
    try {
      results = await this.brokers[by].push(items);
    } catch (error) {
      return [[(error as BrokerError).code, '']];
    }
    return results.map(({ status, resultId, transactionId }, k) => {
      if (status === 'queued' && items[k].transactionId === null) this.minted.push(transactionId.toString());
      return [String(status), status === 'failed' ? '' : uuidText(resultId)];
    });
  }
}

describe('brokers with dedup indexes', () => {
  it.each([
    ['enough memory', 1024 * 1024],
    ['memory for one partition or none', 3 * 1024],
  ])(
    'give the verdicts of those without, with %s',
    async (_, dedupBytesMax) => {
      let vouched = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
          runs += 1;
          const indexed = new World(`indexed ${runs}`, dedupBytesMax);
          const plain = new World(`plain ${runs}`, 0);
          const answers: [n: number, indexed: [string, string], plain: [string, string]][] = [];
          for (const [n, one] of steps.entries()) {
            const [ours, theirs] = [await indexed.take(one), await plain.take(one)];
            const verdictsOf = (all: typeof ours) => ({ n, verdicts: all.map(([verdict]) => verdict) });
            expect(verdictsOf(ours)).toEqual(verdictsOf(theirs));
            ours.forEach(([verdict, id], k) => answers.push([n, [verdict, id], [verdict, theirs[k][1]]]));
          }
          const [ourPlaces, theirPlaces] = [await indexed.findPlaces(), await plain.findPlaces()];
          for (const [n, [verdict, ourId], [, theirId]] of answers) {
            const place = { n, verdict, place: ourPlaces.get(ourId) };
            expect(place).toEqual({ ...place, place: theirPlaces.get(theirId) });
          }
          expect([...ourPlaces.values()]).toEqual([...theirPlaces.values()]);
          vouched += indexed.vouched;
        }),
        { numRuns: 25 },
      );
      expect(vouched).toBeGreaterThan(20);
    },
    120_000,
  );
});
