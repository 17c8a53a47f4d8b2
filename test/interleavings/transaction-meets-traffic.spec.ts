import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  ackMultiCall,
  claimTexts,
  consumerRow,
  expireLease,
  makeLease,
  numbered,
  partitionId,
  partitionRow,
  popSpecific,
  popSpecificCall,
  pushMessages,
  pushMultiCall,
  run,
  type Call,
} from '../support/make.js';
import { openSessions } from '../support/sessions.js';
import { deadlocks, storm } from '../support/storm.js';
import { transactionCall } from '../support/transaction-calls.js';

jest.setTimeout(30_000);

/** A transaction holds partitions first and cursors second, like everybody else. */
let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

/** The cursor of (queue, p), locked as an ack does. */
const lockCursor = (pid: string, group = 'g'): Call => [
  'select from queen.log_consumers where partition_id = $1 and consumer_group = $2 for update',
  [pid, group],
];

describe('a transaction that waits for a cursor', () => {
  it('has shown nothing of its pushes, and shows all of it at once', async () => {
    await pushMessages(db, 'in', 'p', ['m0', 'm1']);
    const { partitionId: pid } = await makeLease(db, 'in', 'p');
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    await run(s1, lockCursor(pid));
    const transaction = s2.start(
      ...transactionCall({
        leases: ['w'],
        pushes: [{ queue: 'out', partition: 'p', texts: ['n0'] }],
        acks: [{ partitionId: pid, texts: ['m0', 'm1'] }],
      }),
    );
    expect(await transaction.isBlocked(s1)).toBe(true);
    expect(await partitionRow(db, 'out', 'p')).toBeNull();
    await s1.commit();
    await transaction.result();
    expect(await claimTexts(db, 'out', 'p')).toEqual(['n0']);
    expect(await consumerRow(db, 'in', 'p')).toMatchObject({ committed: 1, workerId: null });
  });

  it('whose backend is killed there leaves nothing, and can be sent again', async () => {
    await pushMessages(db, 'killed in', 'p', ['m0']);
    await pushMessages(db, 'killed out', 'p', ['before']);
    const { partitionId: pid } = await makeLease(db, 'killed in', 'p');
    const { s1, s2, s3 } = await openSessions(db, ['s1', 's2', 's3']);
    const call = transactionCall({
      leases: ['w'],
      pushes: [{ queue: 'killed out', partition: 'p', texts: ['n0'] }],
      acks: [{ partitionId: pid, texts: ['m0'] }],
    });
    await s1.begin();
    await run(s1, lockCursor(pid));
    const transaction = s2.start(...call);
    expect(await transaction.isBlocked(s1)).toBe(true);
    await db.query('select pg_terminate_backend($1)', [s2.pid]);
    await expect(transaction.result()).rejects.toThrow();
    await s1.commit();
    expect((await partitionRow(db, 'killed out', 'p'))!.lastOffset).toBe(0);
    expect(await consumerRow(db, 'killed in', 'p')).toMatchObject({ committed: -1, workerId: 'w' });

    await run(s3, call);
    expect(await claimTexts(db, 'killed out', 'p')).toEqual(['before', 'n0']);
  });

  it('finds the lease lost meanwhile, and takes its pushes back', async () => {
    await pushMessages(db, 'lost in', 'p', ['m0']);
    const { partitionId: pid } = await makeLease(db, 'lost in', 'p');
    await expireLease(db, 'lost in', 'p');
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    await makeLease(s1, 'lost in', 'p', { worker: 'successor' });
    const transaction = s2.start(
      ...transactionCall({
        leases: ['w'],
        pushes: [{ queue: 'lost out', partition: 'p', texts: ['n0'] }],
        acks: [{ partitionId: pid, texts: ['m0'] }],
      }),
    );
    expect(await transaction.isBlocked(s1)).toBe(true);
    await s1.commit();
    await expect(transaction.result()).rejects.toMatchObject({ code: 'QTXN0' });
    expect(await partitionRow(db, 'lost out', 'p')).toBeNull();
  });

  it('does not hold up the first contact of the pop it waits for: no cycle (Z25)', async () => {
    await pushMessages(db, 'cycle', 'p4', ['a']);
    await pushMessages(db, 'cycle', 'p5', ['b']);
    await popSpecific(db, 'cycle', 'p5', { autoAck: true });
    await pushMessages(db, 'cycle', 'p5', ['c']);
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s2.begin();
    await popSpecific(s2, 'cycle', 'p5');
    const transaction = s1.start(
      ...transactionCall({
        pushes: [{ queue: 'cycle', partition: 'p4', texts: ['d'] }],
        acks: [{ partitionId: await partitionId(db, 'cycle', 'p5'), texts: ['b'] }],
      }),
    );
    expect(await transaction.isBlocked(s2)).toBe(true);
    const contact = s2.start(...popSpecificCall('cycle', 'p4'));
    expect(await contact.isBlocked()).toBe(false);
    await s2.commit();
    await transaction.result();
  });
});

it('of two with the same new transactionId one is committed and one is told so', async () => {
  const { s1, s2 } = await openSessions(db, ['s1', 's2']);
  const call = transactionCall({ pushes: [{ queue: 'twice', partition: 'p', texts: ['same'] }] });
  await pushMessages(db, 'twice', 'p', ['first']);
  await s1.begin();
  await run(s1, call);
  const second = s2.start(...call);
  expect(await second.isBlocked(s1)).toBe(true);
  await s1.commit();
  await expect(second.result()).rejects.toMatchObject({
    code: '23505',
    message: expect.stringMatching(/^QDUP /),
  });
});

it('in any order, among pushes, pops and acks of the same partitions, nothing deadlocks (Z5)', async () => {
  const names = numbered('p', 8);
  const fill = pushMultiCall(names.map((partition) => ({ queue: 'mesh', partition, texts: ['first'] })));
  await run(db, fill);
  const pids = new Map<string, string>();
  for (const name of names) pids.set(name, await partitionId(db, 'mesh', name));
  for (const name of names) await popSpecific(db, 'mesh', name, { autoAck: true });
  const before = await deadlocks(db);
  const { failures } = await storm(db, { sessions: 6, forMs: 2500 }, (client, session, round) => {
    const order = session % 2 === 0 ? names : [...names].reverse();
    // Also partitions that do not exist yet, in both orders.
    const fresh = session % 2 === 0 ? ['x', 'y'] : ['y', 'x'];
    const targets = [...fresh.map((name) => `${name}${round}`), ...order];
    const texts = [`t${session}-${round}`];
    const pushes = targets.map((partition) => ({ queue: 'mesh', partition, texts }));
    if (session < 4) {
      const acks = order.map((name) => ({ partitionId: pids.get(name)!, texts: ['first'] }));
      return run(client, transactionCall({ pushes, acks }));
    }
    if (session === 4) return run(client, pushMultiCall(pushes));
    return run(
      client,
      ackMultiCall(order.map((name) => ({ partitionId: pids.get(name)!, upto: 0, worker: 'nobody' }))),
    );
  });
  expect(failures).toEqual([]);
  expect(await deadlocks(db)).toBe(before);
});
