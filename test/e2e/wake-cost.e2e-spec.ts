import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { RawSqlService } from '../../src/raw-sql/raw-sql.service.js';
import { WakeGateService } from '../../src/wake-gate/wake-gate.service.js';
import { queuePath, startBroker, type TestBroker } from '../support/broker.js';
import { numbered } from '../support/make.js';
import { waitFor } from '../support/wait-for.js';

/** Beside a push and its claims: what the broker does by itself in the same moment. */
const STATEMENTS_MAX = 25;

let broker: TestBroker;
beforeAll(async () => {
  // Nobody looks again by itself while this runs, so every look is the doing of the push.
  broker = await startBroker({ POP_WAIT_INITIAL_INTERVAL_MS: 60_000, POP_WAIT_MAX_INTERVAL_MS: 60_000 });
});
afterAll(() => broker.stop());

const isParked = (count: number) =>
  waitFor(() => broker.broker.app.get(WakeGateService).stats().parked === count, {
    within: 50_000,
    what: `${count} pops to be parked`,
  });

describe('one message for three hundred pops that wait', () => {
  it('goes to one of them for a handful of statements; the others and those of other queues go on waiting (A23)', async () => {
    const queues = numbered('quiet', 50);
    for (const queue of ['herd', ...queues]) {
      await broker.push([{ queue, payload: 'first' }]);
      await broker.pop(queuePath(queue), { consumerGroup: 'g', autoAck: true });
    }
    const waiting = { consumerGroup: 'g', wait: true, timeout: 600_000 };
    const herd = Array.from({ length: 300 }, () => broker.pop(queuePath('herd'), waiting));
    const others = queues.map((queue) => broker.pop(queuePath(queue), waiting));
    await isParked(350);

    const rawSql = broker.broker.app.get(RawSqlService);
    const before = rawSql.stats().statements;
    await broker.push([{ queue: 'herd', payload: 'one' }]);
    const served = await Promise.race(herd);
    expect(served.body.messages).toMatchObject([{ data: 'one' }]);
    await isParked(349);
    expect(rawSql.stats().statements - before).toBeLessThanOrEqual(STATEMENTS_MAX);

    await broker.broker.close(); // lets them all go
    const answers = await Promise.all([...herd, ...others]);
    expect(answers.filter(({ status }) => status === 204)).toHaveLength(349);
  });
});
