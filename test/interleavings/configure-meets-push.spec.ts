import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  countRows,
  makeQueue,
  popSpecificCall,
  popWildcard,
  popWildcardCall,
  pushMessages,
  pushMultiCall,
  run,
  type Call,
} from '../support/make.js';
import { openSessions } from '../support/sessions.js';
import { storm } from '../support/storm.js';

jest.setTimeout(30_000);

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

const configureCall = (queue: string, options: object): Call => [
  'select queen.configure_queue_v1($1, $2) as result',
  [queue, JSON.stringify(options)],
];

describe('a configure under way', () => {
  it.each<[string, (queue: string) => Call]>([
    ['push to a partition that exists', (queue) => pushMultiCall([{ queue, partition: 'p', texts: ['b'] }])],
    ['push that creates a partition', (queue) => pushMultiCall([{ queue, partition: 'new', texts: ['b'] }])],
    ['pop of a partition', (queue) => popSpecificCall(queue, 'p')],
    ['pop of the queue', (queue) => popWildcardCall(queue)],
    ['first pop of a group', (queue) => popWildcardCall(queue, { group: 'fresh' })],
  ])('does not hold up a %s (Z6)', async (what, callOf) => {
    const queue = `configured: ${what}`;
    await pushMessages(db, queue, 'p', ['a']);
    await popWildcard(db, queue, { group: 'g' });
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    await makeQueue(s1, queue, { leaseTime: 5 });
    const step = s2.start(...callOf(queue));
    expect(await step.isBlocked()).toBe(false);
    await step.result();
    await s1.rollback();
  });
});

describe('two configures of one queue at once', () => {
  it('merge one after the other, so that neither loses its change', async () => {
    await makeQueue(db, 'both', { leaseTime: 10, retryLimit: 1 });
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    await makeQueue(s1, 'both', { leaseTime: 20 });
    const second = s2.start(...configureCall('both', { retryLimit: 2 }));
    expect(await second.isBlocked(s1)).toBe(true);
    await s1.commit();
    expect(await second.result()).toMatchObject([{ result: { options: { leaseTime: 20, retryLimit: 2 } } }]);
  });

  it('create it once', async () => {
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    await makeQueue(s1, 'created', { leaseTime: 20 });
    const second = s2.start(...configureCall('created', { retryLimit: 2 }));
    expect(await second.isBlocked(s1)).toBe(true);
    await s1.commit();
    expect(await second.result()).toMatchObject([{ result: { options: { leaseTime: 20, retryLimit: 2 } } }]);
    expect(await countRows(db, 'queues', `name = 'created'`)).toBe(1);
  });

  it('while it is deleted over and over end with a queue, or without, and never in an error', async () => {
    const { failures } = await storm(db, { sessions: 4, rounds: 60 }, (client, session) =>
      session === 0
        ? client.query(`select queen.delete_queue_v1('flicker')`)
        : run(client, configureCall('flicker', { leaseTime: session })),
    );
    expect(failures).toEqual([]);
    await makeQueue(db, 'flicker');
    expect(await countRows(db, 'queues', `name = 'flicker'`)).toBe(1);
  });
});
