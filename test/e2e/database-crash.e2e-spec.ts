import { afterAll, afterEach, beforeAll, expect, it, jest } from '@jest/globals';
import { BrokerProcess } from '../support/broker-process.js';
import { clientOf, type Client } from '../support/client.js';
import { startOwnPostgres, type OwnPostgres } from '../support/own-postgres.js';
import { waitFor } from '../support/wait-for.js';

/*
 * Field case A17: PostgreSQL restarts at once, or its backends are ended again and again, while pushes, pops and parked
 * pops are under way. The process lives, what was accepted is there once, and a push without an answer is stored once
 * when it is repeated under its transactionId.
 */

jest.setTimeout(120_000);

let postgres: OwnPostgres;
let broker: BrokerProcess;
beforeAll(async () => {
  postgres = await startOwnPostgres();
});
afterEach(() => broker.end());
afterAll(() => postgres.remove());

/** Pushes without pause until told to stop; each message is repeated until it is accepted. */
async function pushAll(at: Client, queue: string, worker: number, isOver: () => boolean): Promise<string[]> {
  const accepted: string[] = [];
  for (let n = 0; !isOver(); n++) {
    const transactionId = `${worker}-${n}`;
    await waitFor(
      async () => {
        const { status, body } = await at.push([
          { queue, partition: `p${worker}`, transactionId, payload: transactionId },
        ]);
        if (status === 201) return ['queued', 'duplicate'].includes(body[0].status);
        expect([500, 503]).toContain(status);
        return false;
      },
      { within: 90_000, what: `${transactionId} to be accepted` },
    );
    accepted.push(transactionId);
  }
  return accepted;
}

async function drained(at: Client, queue: string, count: number): Promise<unknown[]> {
  const got: unknown[] = [];
  await waitFor(
    async () => {
      const { status, body } = await at.pop(queue, {
        consumerGroup: 'g',
        autoAck: true,
        partitions: 10,
        batch: 1000,
      });
      if (status === 200) got.push(...body.messages.map(({ data }) => data));
      return got.length >= count;
    },
    { within: 90_000, what: `${count} messages` },
  );
  return got;
}

const CASES: [string, (round: number) => Promise<unknown>][] = [
  ['PostgreSQL crashes and restarts', (round) => (round % 4 === 0 ? postgres.crash() : Promise.resolve())],
  [
    'every backend is ended again and again',
    () =>
      postgres.database.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'queen-nest%'`,
      ),
  ],
];

it.each(CASES)('when %s the broker lives on and loses nothing (A17)', async (name, disturb) => {
  const started = await BrokerProcess.start({
    DATABASE_URL: postgres.url,
    QUEEN_SPOOL: 'false',
    QUEEN_SHUTDOWN_LINGER_MS: 0,
  });
  broker = started;
  const at = clientOf(started.port);
  const queue = `crash ${name}`;
  await at.push([{ queue: 'parked', payload: 0 }]);
  await at.pop('parked', { consumerGroup: 'g', autoAck: true });
  const parked = Array.from({ length: 50 }, () =>
    at.pop('parked', { consumerGroup: 'g', autoAck: true, wait: true, timeout: 200_000 }),
  );
  let isOver = false;
  const workers = [0, 1, 2, 3].map((worker) => pushAll(at, queue, worker, () => isOver));
  for (let round = 0; round < 8; round++) {
    const before = await waitForPush(at, queue, `marker ${round}`);
    expect(before).toBe(true);
    await disturb(round);
  }
  isOver = true;
  const accepted = (await Promise.all(workers)).flat();
  expect(broker.isRunning).toBe(true);

  const markers = Array.from({ length: 8 }, (_, round) => `marker ${round}`);
  const got = await drained(at, queue, accepted.length + markers.length);
  expect([...got].sort()).toEqual([...accepted, ...markers].sort());

  // Those who were parked are still there, and are served.
  const wake = Array.from({ length: 60 }, (_, n) => ({ queue: 'parked', partition: `w${n}`, payload: n }));
  await waitFor(async () => (await at.push(wake)).status === 201, {
    within: 60_000,
    what: 'the wake to be stored',
  });
  const answers = await Promise.all(parked);
  expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThan(0);
  for (const { status } of answers) expect([200, 204, 500, 503]).toContain(status);
  expect(broker.lines).not.toMatch(/uncaught|unhandled/i);
});

async function waitForPush(at: Client, queue: string, transactionId: string): Promise<boolean> {
  return waitFor(
    async () => {
      const { status, body } = await at.push([
        { queue, partition: 'markers', transactionId, payload: transactionId },
      ]);
      return status === 201 && ['queued', 'duplicate'].includes(body[0].status);
    },
    { within: 90_000, what: 'the database to be back' },
  );
}
