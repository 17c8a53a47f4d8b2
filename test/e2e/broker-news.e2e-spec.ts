import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { BrokerProcess } from '../support/broker-process.js';
import { clientOf, type Client } from '../support/client.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { waitFor } from '../support/wait-for.js';

/*
 * What one broker is told acts on the other, a process of its own, by hint. Reconciling is switched off for the length of
 * the test, so a change that arrives came as a hint. The times are printed: a second is the promise, the machine of a
 * test may be slower.
 */

jest.setTimeout(120_000);
const WITHIN_MS = 15_000;
/** Longer than the file runs. */
const NEVER_MS = 3_600_000;

let db: TestDatabase;
let processes: BrokerProcess[] = [];
let a: Client;
let b: Client;
const measured: string[] = [];

beforeAll(async () => {
  db = await createTestDatabase();
  const settings = { DATABASE_URL: db.url, QUEEN_CACHE_REFRESH_INTERVAL_MS: NEVER_MS };
  const started = await Promise.all([BrokerProcess.start(settings), BrokerProcess.start(settings)]);
  processes = started;
  [a, b] = started.map(({ port }) => clientOf(port));
  const know = async () =>
    (await a.metric('queen_hint_peers')) === 1 && (await b.metric('queen_hint_peers')) === 1;
  await waitFor(know, { within: 30_000, what: 'the brokers to meet' });
});
afterAll(async () => {
  for (const one of processes) await one.end();
  process.stdout.write(`news reached the other broker: ${measured.join(', ')}\n`);
  await db.drop();
});

/** Changes something at one broker and waits until the other acts on it. */
async function arrives(
  name: string,
  change: () => Promise<unknown>,
  isThere: () => Promise<boolean>,
): Promise<void> {
  expect(await isThere()).toBe(false);
  await change();
  const changedMs = performance.now();
  await waitFor(isThere, { within: WITHIN_MS, what: `${name} to act on the other broker` });
  measured.push(`${name} ${Math.round(performance.now() - changedMs)} ms`);
}

interface Parked {
  answer: ReturnType<Client['pop']>;
  isAnswered: boolean;
}

async function parkAt(at: Client, queue: string): Promise<Parked> {
  const answer = at.pop(queue, { consumerGroup: 'g', wait: true, timeout: 60_000 });
  const parked: Parked = { answer, isAnswered: false };
  void answer.then(() => (parked.isAnswered = true));
  const isParked = async () =>
    (await at.get('/metrics/prometheus')).text.includes(`queen_parked_long_polls{queue="${queue}"} 1`);
  await waitFor(isParked, { within: WITHIN_MS, what: 'the pop to be parked' });
  return parked;
}

describe('on the other broker acts', () => {
  it('a configuration', async () => {
    await a.push([{ queue: 'cfg', payload: 1 }]);
    const leaseOf = async (group: string) => {
      await b.pop('cfg', { consumerGroup: group });
      const { rows } = await db.query<{ seconds: number }>(
        `select round(extract(epoch from lease_expires_at - lease_acquired_at))::int as seconds
           from queen.log_consumers where consumer_group = $1`,
        [group],
      );
      return rows[0]?.seconds;
    };
    expect(await leaseOf('before')).toBe(60);
    let group = 0;
    await arrives(
      'configure',
      () => a.post('/api/v1/configure', { queue: 'cfg', options: { leaseTime: 7 } }),
      async () => (await leaseOf(`g${group++}`)) === 7,
    );
  });

  it.each([
    ['pop maintenance', 'maintenance/pop'],
    ['push maintenance', 'maintenance'],
  ])('%s, on and off', async (name, path) => {
    await a.push([{ queue: 'flags', payload: 1 }]);
    let n = 0;
    const isOn = async () =>
      name === 'push maintenance'
        ? (await b.push([{ queue: 'flags', payload: 2 }])).body[0].status === 'buffered'
        : (await b.pop('flags', { consumerGroup: `g${n++}` })).status === 204;
    const set = (enabled: boolean) => () => a.post(`/api/v1/system/${path}`, { enabled });
    await arrives(`${name} on`, set(true), isOn);
    await arrives(`${name} off`, set(false), async () => !(await isOn()));
  });

  it('a pause of pushes and its end', async () => {
    await a.push([{ queue: 'paused', payload: 1 }]);
    const isPaused = async () => (await b.push([{ queue: 'paused', payload: 2 }])).status === 429;
    await arrives('pause', () => a.post('/api/v1/resources/queues/paused/pause', { pushes: true }), isPaused);
    await arrives(
      'resume',
      () => a.post('/api/v1/resources/queues/paused/resume', { pushes: true }),
      async () => !(await isPaused()),
    );
  });

  it('the end of a pause of pops, for a pop that is parked there', async () => {
    await a.push([{ queue: 'parked', payload: 1 }]);
    await b.pop('parked', { consumerGroup: 'g', autoAck: true });
    await a.post('/api/v1/resources/queues/parked/pause', { pops: true });
    await a.push([{ queue: 'parked', payload: 2 }]);
    const parked = await parkAt(b, 'parked');
    await arrives(
      'resume of a parked pop',
      () => a.post('/api/v1/resources/queues/parked/resume', { pops: true }),
      () => Promise.resolve(parked.isAnswered),
    );
    expect((await parked.answer).body.messages).toMatchObject([{ data: 2 }]);
  });

  it('a seek, for a pop that is parked there', async () => {
    await a.push([{ queue: 'seek', payload: 'again' }]);
    await b.pop('seek', { consumerGroup: 'g', autoAck: true });
    const parked = await parkAt(b, 'seek');
    await arrives(
      'seek',
      () => a.post('/api/v1/consumer-groups/g/queues/seek/seek', { timestamp: '2000-01-01T00:00:00Z' }),
      () => Promise.resolve(parked.isAnswered),
    );
    expect((await parked.answer).body.messages).toMatchObject([{ data: 'again' }]);
  });

  it('the deletion of a queue: what it is made of anew is served there', async () => {
    await a.push([{ queue: 'deleted', payload: 'old' }]);
    expect((await b.pop('deleted', { consumerGroup: 'g', autoAck: true })).status).toBe(200);
    await arrives(
      'delete',
      async () => {
        await a.del('/api/v1/resources/queues/deleted');
        await a.push([{ queue: 'deleted', payload: 'new' }]);
      },
      async () => {
        const { status, body } = await b.pop('deleted', { consumerGroup: 'g', autoAck: true });
        return status === 200 && body.messages[0].data === 'new';
      },
    );
  });

  it('a message, for a pop that is parked there', async () => {
    await a.push([{ queue: 'wake', payload: 0 }]);
    await b.pop('wake', { consumerGroup: 'g', autoAck: true });
    const parked = await parkAt(b, 'wake');
    await arrives(
      'push',
      () => a.push([{ queue: 'wake', partition: 'p', payload: 1 }]),
      () => Promise.resolve(parked.isAnswered),
    );
    expect((await parked.answer).status).toBe(200);
  });
});
