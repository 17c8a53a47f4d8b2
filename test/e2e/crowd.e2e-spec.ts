import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { RawSqlService } from '../../src/raw-sql/raw-sql.service.js';
import { WakeGateService } from '../../src/wake-gate/wake-gate.service.js';
import { blockedBackends } from '../support/blocked.js';
import { acksFor, queuePath, startBroker, type Answer, type TestBroker } from '../support/broker.js';
import { clientOf } from '../support/client.js';
import { RawConnection, rawRequest } from '../support/raw-http.js';
import { openSessions } from '../support/sessions.js';
import { waitFor } from '../support/wait-for.js';

/*
 * Field case A15: many who wait cost next to nothing, and more than fits is refused in bounded time and memory instead of
 * piling up. (That no failure leaks a connection: test/integration/raw-sql/pool-exhausted.spec.ts.)
 */

jest.setTimeout(120_000);
const CROWD = 1000;
const PUSHES = 200;

describe('a thousand pops parked on empty queues', () => {
  let broker: TestBroker;
  beforeAll(async () => {
    broker = await startBroker({ DB_POOL_SIZE: 4, QUEEN_POOL_RESERVE: 2 });
  });
  afterAll(() => broker.stop());

  it('hold no connection, and look without sending a statement (A15)', async () => {
    const { app } = broker.broker;
    const sql = app.get(RawSqlService);
    const gates = app.get(WakeGateService, { strict: false });
    const queues = Array.from({ length: 20 }, (_, n) => `empty${n}`);
    for (const queue of queues) {
      // First contact, and the first walk of the ring: what every group costs once.
      await broker.push([{ queue, payload: 0 }]);
      await broker.pop(queuePath(queue), { consumerGroup: 'g', autoAck: true });
      await broker.pop(queuePath(queue), { consumerGroup: 'g', autoAck: true });
    }
    const parked: RawConnection[] = [];
    while (parked.length < CROWD) {
      // In groups, since client and broker are one process here and connections are taken between everything else.
      const some = Array.from({ length: 100 }, (_, n) => queues[n % queues.length]).map(async (queue) =>
        (await RawConnection.open(broker.port)).send(
          rawRequest('GET', `/api/v1/pop/queue/${queue}?consumerGroup=g&wait=true&timeout=600000`),
        ),
      );
      parked.push(...(await Promise.all(some)));
      await waitFor(() => gates.stats().parked >= parked.length, {
        within: 60_000,
        what: `${parked.length} pops to be parked`,
      });
    }
    await waitFor(() => sql.stats().idle === sql.stats().total, {
      within: 10_000,
      what: 'the pool to be at rest',
    });
    const before = sql.stats().statements;
    const looked = await quietLooks(broker);
    await waitFor(async () => (await quietLooks(broker)) >= looked + 3 * CROWD, {
      within: 60_000,
      what: 'each of them to have looked again three times',
    });
    // What is left is background work: notices, switches, statistics.
    expect(sql.stats().statements - before).toBeLessThan(300);
    expect(sql.stats().total).toBeLessThanOrEqual(4);

    await broker.push([{ queue: queues[0], partition: 'wake', payload: 1 }]);
    await waitFor(() => parked.some(({ unread }) => unread.toString().startsWith('HTTP/1.1 200')), {
      within: 60_000,
      what: 'one of them to be served',
    });
    await broker.broker.close(); // the others leave with 204
    const answers = await Promise.all(parked.map((pop) => pop.response({ within: 60_000 })));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 204)).toHaveLength(CROWD - 1);
  });
});

/** Looks that found nothing in memory. */
async function quietLooks({ port }: TestBroker): Promise<number> {
  const { text } = await clientOf(port).get('/metrics/prometheus');
  const lines = text.split('\n').filter((line) => /^queen_pop_attempts_total\{.*quiet/.test(line));
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

describe('pushes by the hundred while the database does not move', () => {
  let broker: TestBroker;
  beforeAll(async () => {
    broker = await startBroker({
      DB_POOL_SIZE: 4,
      QUEEN_POOL_RESERVE: 2,
      QUEEN_LANE_WAIT_MS: 2000,
      QUEEN_PUSH_BUFFER_BYTES: 1_048_576,
      QUEEN_SPOOL: 'false',
    });
  });
  afterAll(() => broker.stop());

  it('are refused with a time to come again as soon as they do not fit, and all is well afterwards (A15)', async () => {
    const { s1 } = await openSessions(broker.database, ['s1']);
    await broker.push([{ queue: 'busy', payload: 0 }]);
    const leased = await broker.pop(queuePath('busy'), { consumerGroup: 'g' });
    await s1.begin();
    await s1.run('lock table queen.log_segments in access exclusive mode');
    const payload = 'x'.repeat(50_000);
    const pushing = Array.from({ length: PUSHES }, (_, n) =>
      broker.push([{ queue: 'busy', partition: `p${n}`, transactionId: `t${n}`, payload }]),
    );
    await waitFor(async () => (await blockedBackends(broker.database)).length > 0, {
      within: 60_000,
      what: 'a push to be held up',
    });
    let refused: Answer[] = [];
    const collect = pushing.map((push) =>
      push.then((answer) => answer.status !== 201 && refused.push(answer)),
    );
    // Those beyond the buffer are not kept waiting for the database.
    await waitFor(() => refused.length > PUSHES / 2, { within: 60_000, what: 'most of them to be refused' });
    for (const { status, headers } of refused) {
      expect([429, 503]).toContain(status);
      expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    }
    // An ack touches other tables and has a lane of its own: it is not behind the pushes.
    expect((await broker.ackBatch(acksFor(leased.body.messages))).body).toMatchObject([{ success: true }]);
    await s1.rollback();
    await Promise.all(collect);
    refused = [];
    await waitFor(
      async () => (await broker.push([{ queue: 'busy', partition: 'after', payload: 1 }])).status === 201,
      { within: 60_000, what: 'a push to be stored again' },
    );
    const sql = broker.broker.app.get(RawSqlService);
    await waitFor(() => sql.stats().idle === sql.stats().total && sql.stats().waiting === 0, {
      within: 60_000,
      what: 'the pool to be whole',
    });
  });
});
