import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  claimTexts,
  consumerRow,
  countRows,
  expireLease,
  makeLease,
  makeQueue,
  numbered,
  OTHER_TENANT,
  partitionId,
  partitionRow,
  popSpecific,
  pushMessages,
  run,
} from '../support/make.js';
import { transact, transactionCall, type TransactionInput } from '../support/transaction-calls.js';

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

/** m0 … m3 of (queue, p), all leased to w for group g. */
async function leased(queue: string, options: Record<string, unknown> = {}): Promise<string> {
  await makeQueue(db, queue, options);
  await pushMessages(db, queue, 'p', numbered('m', 4));
  return (await makeLease(db, queue, 'p')).partitionId;
}

async function refusalOf(input: TransactionInput): Promise<{ code: string; message: string }> {
  try {
    await run(db, transactionCall(input));
  } catch (error) {
    const { code, message } = error as { code: string; message: string };
    return { code, message };
  }
  throw new Error('the transaction was committed');
}

const released = { workerId: null, leaseExpiresAt: null, batchEnd: null };

describe('a transaction', () => {
  it('stores and acks in one step, and answers in input order', async () => {
    const first = await leased('both a');
    const second = await leased('both b');
    const done = await transact(db, {
      leases: ['w'],
      pushes: [
        { queue: 'out b', partition: 'x', texts: ['n0', 'n1'] },
        { queue: 'out a', partition: 'y', texts: ['n0'] },
      ],
      acks: [
        { partitionId: second, texts: numbered('m', 4) },
        { partitionId: first, texts: ['m1'] },
      ],
    });
    expect(done.pushes).toEqual([
      { status: 'queued', baseOffset: 0, createdAt: expect.stringMatching(/\.\d{6}Z$/) },
      { status: 'queued', baseOffset: 0, createdAt: expect.any(String) },
    ]);
    expect(done.acks).toEqual([
      expect.objectContaining({ acked: 4, queue: 'both b', partition: 'p', worker: 'w', leased: false }),
      expect.objectContaining({ acked: 2, queue: 'both a', partition: 'p', worker: 'w', leased: true }),
    ]);
    expect(await claimTexts(db, 'out b', 'x')).toEqual(['n0', 'n1']);
    expect(await claimTexts(db, 'out a', 'y')).toEqual(['n0']);
    expect(await consumerRow(db, 'both a', 'p')).toMatchObject({ committed: 1, workerId: 'w', batchEnd: 3 });
    expect(await consumerRow(db, 'both b', 'p')).toMatchObject({ committed: 3, ...released });
  });

  it('with nothing in it is committed', async () => {
    expect(await transact(db, {})).toEqual({ ok: true, pushes: [], acks: [] });
  });

  it('stores several segments of one partition in their order', async () => {
    const push = (texts: string[]) => ({ queue: 'split', partition: 'p', texts });
    const { pushes } = await transact(db, { pushes: [push(['a', 'b']), push(['c']), push(['d'])] });
    expect(pushes.map(({ baseOffset }) => baseOffset)).toEqual([0, 2, 3]);
    expect(await claimTexts(db, 'split', 'p')).toEqual(['a', 'b', 'c', 'd']);
  });

  it('reaches a message that it stores itself, when the ack needs no lease', async () => {
    await pushMessages(db, 'own', 'p', ['m0']);
    const pid = await partitionId(db, 'own', 'p');
    await popSpecific(db, 'own', 'p', { autoAck: true });
    await transact(db, {
      pushes: [{ queue: 'own', partition: 'p', texts: ['m1'] }],
      acks: [{ partitionId: pid, texts: ['m1'] }],
    });
    expect(await claimTexts(db, 'own', 'p')).toEqual([]);
  });

  it('refuses arrays that do not fit together', async () => {
    const call = "select queen.log_transaction_wire_v1('{\"pushes\":[{}]}', '{}', '{}')";
    await expect(db.query(call)).rejects.toMatchObject({ code: 'QTXN1' });
  });
});

describe('the lease of an ack', () => {
  it('is its own', async () => {
    const pid = await leased('own lease');
    const [ack] = (await transact(db, { acks: [{ partitionId: pid, worker: 'w', texts: ['m0'] }] })).acks;
    expect(ack).toMatchObject({ worker: 'w', acked: 1 });
    const { message } = await refusalOf({
      leases: ['w'],
      acks: [{ partitionId: pid, worker: 'other', texts: ['m1'] }],
    });
    expect(message).toContain('invalid or expired lease');
  });

  it('is the one that holds the cursor, when the request names it among others', async () => {
    const pid = await leased('among others');
    const [ack] = (
      await transact(db, { leases: ['v', 'w'], acks: [{ partitionId: pid, texts: numbered('m', 4) }] })
    ).acks;
    expect(ack).toMatchObject({ worker: 'w', leased: false });
  });

  it('is never that of somebody the request does not name', async () => {
    const pid = await leased('taken over');
    await expireLease(db, 'taken over', 'p');
    await makeLease(db, 'taken over', 'p', { worker: 'successor' });
    for (const leases of [['w'], ['v', 'w']]) {
      const { code, message } = await refusalOf({ leases, acks: [{ partitionId: pid, texts: ['m0'] }] });
      expect([code, message]).toEqual([
        'QTXN0',
        `QTXN ack failed for partition ${pid} group "g": invalid or expired lease; transaction rolled back`,
      ]);
    }
    expect(await consumerRow(db, 'taken over', 'p')).toMatchObject({ committed: -1, workerId: 'successor' });
  });

  it('that ran out fails, when the request names one', async () => {
    const pid = await leased('ran out');
    await expireLease(db, 'ran out', 'p');
    const { message } = await refusalOf({ leases: ['w'], acks: [{ partitionId: pid, texts: ['m0'] }] });
    expect(message).toContain('invalid or expired lease');
  });

  it('that ran out does not matter, when the request names none', async () => {
    const pid = await leased('named none');
    await expireLease(db, 'named none', 'p');
    const [ack] = (await transact(db, { acks: [{ partitionId: pid, texts: ['m1'] }] })).acks;
    expect(ack).toMatchObject({ worker: '', acked: 2 });
  });

  it('that was given back already does not turn into none', async () => {
    const pid = await leased('given back');
    await transact(db, { leases: ['w'], acks: [{ partitionId: pid, texts: numbered('m', 4) }] });
    const { message } = await refusalOf({ leases: ['v', 'w'], acks: [{ partitionId: pid, texts: ['m0'] }] });
    expect(message).toContain('invalid or expired lease');
  });
});

describe('nothing is kept', () => {
  const push = { queue: 'nothing', partition: 'p', texts: ['x'] };

  async function expectNothingKept(queue: string, input: TransactionInput, code: string, text: string) {
    const before = await consumerRow(db, queue, 'p');
    const refusal = await refusalOf({ pushes: [push], ...input });
    expect(refusal).toEqual({ code, message: text });
    expect(await countRows(db, 'queues', 'name = $1', ['nothing'])).toBe(0);
    expect({ ...(await consumerRow(db, queue, 'p')), leaseSecondsLeft: 0 }).toEqual({
      ...before,
      leaseSecondsLeft: 0,
    });
  }

  it('when a push repeats a stored message', async () => {
    const pid = await leased('repeats');
    await expectNothingKept(
      'repeats',
      {
        pushes: [push, { queue: 'repeats', partition: 'p', texts: ['new', 'm2'] }],
        acks: [{ partitionId: pid, worker: 'w', texts: ['m0'] }],
      },
      '23505',
      'QDUP duplicate messages in queue "repeats" partition "p"; transaction rolled back',
    );
    expect((await partitionRow(db, 'repeats', 'p'))!.lastOffset).toBe(3);
  });

  it('when an ack names a message that its partition does not have', async () => {
    const pid = await leased('unknown');
    await expectNothingKept(
      'unknown',
      { acks: [{ partitionId: pid, worker: 'w', texts: ['m0', 'never pushed'] }] },
      'QTXN0',
      'QTXN ack references unknown transactionId; transaction rolled back',
    );
  });

  it('when an ack names a message beyond its batch', async () => {
    const pid = await leased('beyond');
    await pushMessages(db, 'beyond', 'p', ['later']);
    await expectNothingKept(
      'beyond',
      { acks: [{ partitionId: pid, worker: 'w', texts: ['later'] }] },
      'QTXN0',
      'QTXN ack references unknown transactionId; transaction rolled back',
    );
  });

  it('when the group has no cursor there', async () => {
    const pid = await leased('no cursor');
    await expectNothingKept(
      'no cursor',
      { acks: [{ partitionId: pid, group: 'h "q"', texts: ['m0'] }] },
      'QTXN0',
      `QTXN ack failed for partition ${pid} group "h "q"": consumer not found; transaction rolled back`,
    );
  });

  it('when a refused message was completed before: the refusal must not be lost', async () => {
    const pid = await leased('stale');
    await transact(db, { acks: [{ partitionId: pid, worker: 'w', texts: ['m1'] }] });
    await expectNothingKept(
      'stale',
      { acks: [{ partitionId: pid, worker: 'w', texts: ['m0', 'm2'], statuses: ['failed', 'completed'] }] },
      'QTXN0',
      `QTXN ack failed for partition ${pid} group "g": already committed: the cursor moved past this message ` +
        'before this ack; transaction rolled back',
    );
  });

  it.each([
    ['belongs to another tenant', OTHER_TENANT, (pid: string) => pid],
    ['does not exist', undefined, () => '01890000-0000-7000-8000-00000000dead'],
  ])('when the partition of an ack %s', async (what, tenant, idOf) => {
    const queue = `foreign ${what}`;
    const pid = idOf(await leased(queue));
    await expectNothingKept(
      queue,
      { tenant, acks: [{ partitionId: pid, texts: ['m0'] }] },
      'QTXN0',
      `QTXN ack failed for partition ${pid} group "g": partition not found; transaction rolled back`,
    );
  });

  it('also of the acks before the one that is refused', async () => {
    const first = await leased('earlier a');
    const second = await leased('earlier b');
    await refusalOf({
      acks: [
        { partitionId: first, worker: 'w', texts: numbered('m', 4) },
        { partitionId: second, worker: 'w', texts: ['never pushed'] },
      ],
    });
    expect(await consumerRow(db, 'earlier a', 'p')).toMatchObject({ committed: -1, workerId: 'w' });
  });
});

describe('the statuses of an ack', () => {
  it('act as on the ack route: the lowest signal counts', async () => {
    const pid = await leased('signals');
    const [ack] = (
      await transact(db, {
        leases: ['w'],
        acks: [{ partitionId: pid, texts: numbered('m', 3), statuses: ['completed', 'failed', 'completed'] }],
      })
    ).acks;
    expect(ack).toMatchObject({ acked: 1, off: 0, leased: false });
    expect(await consumerRow(db, 'signals', 'p')).toMatchObject({ committed: 0, retryCount: 1, ...released });
    expect(await claimTexts(db, 'signals', 'p')).toEqual(['m1', 'm2', 'm3']);
  });

  it('a completed message may be completed again', async () => {
    const pid = await leased('again');
    await transact(db, { leases: ['w'], acks: [{ partitionId: pid, texts: ['m0'] }] });
    const [ack] = (await transact(db, { leases: ['w'], acks: [{ partitionId: pid, texts: ['m0'] }] })).acks;
    expect(ack).toMatchObject({ acked: 0, leased: true });
  });

  it('a message to put aside is handed to the caller, with the lease to do it under', async () => {
    const pid = await leased('aside', { retryLimit: 0 });
    const [ack] = (
      await transact(db, {
        leases: ['w', 'v'],
        acks: [{ partitionId: pid, texts: ['m0', 'm1'], statuses: ['completed', 'failed'] }],
      })
    ).acks;
    expect(ack).toMatchObject({ dlq: true, off: 1, worker: 'w', leased: true });
    expect(await consumerRow(db, 'aside', 'p')).toMatchObject({ committed: 0, workerId: 'w' });
  });
});
