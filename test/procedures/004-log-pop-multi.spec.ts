import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Dice } from '../properties/dice.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  ageSegments,
  consumerRow,
  dropBelow,
  expireLease,
  inTurn,
  makeLease,
  makeQueue,
  numbered,
  partitionRow,
  popListCall,
  popMultiCall,
  pushBacklog,
  pushMessages,
  run,
  type PopJob,
  type Row,
} from '../support/make.js';
import { openSessions, type TestSession } from '../support/sessions.js';
import { answerOf, popMulti, statesOf, type SharedAnswer } from '../support/shared-pops.js';

jest.setTimeout(60_000);

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

describe('a pop of many', () => {
  it('gives each job its own, in the order of its names', async () => {
    for (const partition of numbered('p', 4))
      await pushMessages(db, 'own', partition, numbered(partition, 3));
    const [first, second] = await popMulti(db, [
      { queue: 'own', names: ['p2', 'p0'], worker: 'w1', budget: 4, maxPartitions: 10 },
      { queue: 'own', names: ['p3', 'p1'], worker: 'w2', budget: 100, maxPartitions: 1 },
    ]);
    expect(first.batches).toMatchObject([
      { partition: 'p2', texts: ['p20', 'p21', 'p22'] },
      { partition: 'p0', texts: ['p00'] },
    ]);
    expect(statesOf(first)).toEqual(['p2 took', 'p0 took']);
    expect(statesOf(second)).toEqual(['p3 took']);
    expect(await consumerRow(db, 'own', 'p0')).toMatchObject({ workerId: 'w1', batchEnd: 0 });
    expect(await consumerRow(db, 'own', 'p3')).toMatchObject({ workerId: 'w2', batchEnd: 2 });
  });

  it('asks further names when the first ones are in vain', async () => {
    await pushMessages(db, 'vain', 'p2', ['m']);
    const [answer] = await popMulti(db, [{ queue: 'vain', names: ['p0', 'p1', 'p2', 'p3'], budget: 1 }]);
    expect(statesOf(answer)).toEqual(['p0 empty', 'p1 empty', 'p2 took']);
  });

  it('of an unknown queue is empty, creates nothing and holds nobody up', async () => {
    await pushMessages(db, 'known', 'p', ['m']);
    const [unknown, known] = await popMulti(db, [
      { queue: 'no such queue', names: ['p'] },
      { queue: 'known', names: ['p'] },
    ]);
    expect(statesOf(unknown)).toEqual(['p empty']);
    expect(known.batches).toMatchObject([{ texts: ['m'] }]);
  });

  it('serves a cursor once, also when two jobs ask for it', async () => {
    await pushMessages(db, 'twice', 'p', ['a', 'b']);
    const job = { queue: 'twice', names: ['p'], budget: 1, autoAck: true };
    await popMulti(db, [job]); // creates the cursor
    const answers = await popMulti(db, [job, job]);
    expect(answers.flatMap(({ batches }) => batches.flatMap(({ texts }) => texts))).toEqual(['b']);
    expect(answers.map(statesOf)).toEqual([['p took'], ['p leased']]);
  });

  it('leaves the jobs that no longer fit for the next one', async () => {
    for (const partition of ['p0', 'p1', 'p2']) await pushMessages(db, 'big', partition, ['m']);
    const jobs = ['p0', 'p1', 'p2'].map((name) => ({
      queue: 'big',
      names: [name],
      autoAck: true,
      budget: 1,
    }));
    await db.query(`update queen.log_segments set blob = blob || decode(repeat('00', 9000000), 'hex')
      where partition_id in (select p.id from queen.log_partitions p join queen.queues q on q.id = p.queue_id
                             where q.name = 'big')`);
    const rows = await run(db, popMultiCall(jobs));
    expect([...new Set(rows.map(({ r_part: part }) => part))]).toEqual([1, 2]);
    expect(await consumerRow(db, 'big', 'p2')).toBeNull();
  });

  it('of none is none', async () => {
    expect(await run(db, popMultiCall([]))).toEqual([]);
  });

  it.each(Array.from({ length: 13 }, (_, i) => i))('with array %d too long is refused', async (position) => {
    const [text, values] = popMultiCall([{ queue: 'own', names: ['p'] }]);
    const changed = values.map((value, i) => (i === position ? [...(value as unknown[]), null] : value));
    await expect(db.query(text, changed)).rejects.toMatchObject({ code: 'QPOPM' });
  });

  it('needs a worker id for a lease', async () => {
    const jobs = [{ queue: 'own', names: ['p1'], worker: '' }];
    await expect(run(db, popMultiCall(jobs))).rejects.toMatchObject({ code: 'QPOP0' });
  });
});

describe('a pop of many and pops of lists one after the other', () => {
  const PARTITIONS = numbered('p', 8);
  const GROUPS = ['g', 'h'];
  const OPTIONS = [
    {},
    {},
    {},
    { leaseTime: 7 },
    { delayedProcessing: 30 },
    { windowBuffer: 30 },
    { ttl: 50 },
    { maxDeliveries: 2 },
    { retryDelay: 20 },
  ];

  /** A queue in some state, its cursors anywhere. */
  async function makeState(dice: Dice, queue: string): Promise<void> {
    await makeQueue(db, queue, dice.pick(OPTIONS));
    for (const partition of PARTITIONS) {
      const segments = dice.roll(5);
      if (segments > 0) await pushBacklog(db, queue, partition, segments, 1 + dice.roll(3));
      const stored = await partitionRow(db, queue, partition);
      if (!stored) continue;
      if (dice.once(2)) await ageSegments(db, queue, partition, 40, { to: dice.roll(stored.lastOffset + 1) });
      for (const group of GROUPS) {
        if (dice.once(3)) continue; // no cursor yet
        await popAlone(db, { queue, names: [partition], group, budget: 1 + dice.roll(3), worker: 'earlier' });
        await moveCursor(dice, queue, partition, group, stored.lastOffset);
      }
      if (dice.once(4)) {
        const all = stored.lastOffset + 1;
        const bases = await db.query<{ base: string }>(
          'select base_offset as base from queen.log_segments where partition_id = $1 order by 1',
          [stored.id],
        );
        await dropBelow(
          db,
          queue,
          partition,
          Number([...bases.rows.map(({ base }) => base), all].at(dice.roll(4)) ?? all),
        );
      }
    }
    if (dice.once(8)) await db.query('update queen.queues set pops_paused = true where name = $1', [queue]);
  }

  async function moveCursor(
    dice: Dice,
    queue: string,
    partition: string,
    group: string,
    lastOffset: number,
  ): Promise<void> {
    const row = await consumerRow(db, queue, partition, group);
    if (!row) return;
    const set = async (assignments: string) => {
      const { id } = (await partitionRow(db, queue, partition))!;
      await db.query(
        `update queen.log_consumers set ${assignments} where partition_id = $1 and consumer_group = $2`,
        [id, group],
      );
    };
    const free = `worker_id = null, lease_expires_at = null, batch_end = null`;
    const upto = dice.roll(lastOffset + 2) - 1;
    switch (dice.roll(6)) {
      case 0: // leased, as it is
        return;
      case 1:
        return row.workerId ? expireLease(db, queue, partition, group) : undefined;
      case 2:
        return set(`${free}, hold_until = clock_timestamp() + interval '1 hour'`);
      case 3:
        return set(
          `${free}, committed = ${upto}, lost_offset = ${upto + 1}, lost_end = ${upto + 2}, lost_count = 1`,
        );
      default:
        return set(`${free}, committed = ${upto}`);
    }
  }

  async function popAlone(
    on: TestSession | TestDatabase,
    { queue, names, ...options }: PopJob,
  ): Promise<SharedAnswer> {
    return answerOf(
      await run(on, popListCall(queue, names, options)),
      ({ r_partition: name }) => name as string,
    );
  }

  /** Jobs whose names are all different within a group, as the ring gives them out. */
  function makeJobs(dice: Dice, queues: readonly string[]): PopJob[] {
    const free = queues.flatMap((queue) =>
      GROUPS.flatMap((group) => [...PARTITIONS, 'nowhere'].map((name) => ({ queue, group, name }))),
    );
    const jobs: PopJob[] = [];
    for (let n = 1 + dice.roll(6); n > 0; n--) {
      const { queue, group } = dice.pick(free);
      const names: string[] = [];
      for (let wanted = 1 + dice.roll(5); wanted > 0; wanted--) {
        const mine = free.filter((one) => one.queue === queue && one.group === group);
        if (mine.length === 0) break;
        const taken = dice.pick(mine);
        free.splice(free.indexOf(taken), 1);
        names.push(taken.name);
      }
      if (free.length === 0) break;
      if (names.length === 0) continue;
      jobs.push({
        ...{ queue, group, names, worker: `w${n}` },
        budget: dice.pick([1, 1, 2, 5, 100]),
        maxPartitions: dice.pick([1, 2, 100]),
        leaseSeconds: dice.pick([null, 20]),
        autoAck: dice.once(2),
        skipWindow: dice.once(2),
        mode: dice.pick(['all', 'new']),
      });
    }
    return jobs;
  }

  /** Every cursor, with times as whole distances: the two ways run a moment after one another. */
  async function cursors(on: TestSession): Promise<Row[]> {
    return on.run(`
      select q.name as queue, p.name as partition, c.consumer_group, c.committed, c.batch_end, c.worker_id,
             round(extract(epoch from c.lease_expires_at - c.lease_acquired_at)) as lease, c.attempt_offset, c.attempt_end,
             c.attempt_count, c.total_consumed, c.total_expired, c.hold_until, c.batch_retry_count, c.lost_offset,
             c.lost_end, c.lost_count
      from queen.log_consumers c
      join queen.log_partitions p on p.id = c.partition_id
      join queen.queues q on q.id = p.queue_id
      order by 1, 2, 3`);
  }

  it.each([11, 12, 13, 14, 15, 16])('agree on random states (seed %d)', async (seed) => {
    const dice = new Dice(seed);
    const queues = numbered(`random ${seed} `, 3);
    for (const queue of queues) await makeState(dice, queue);
    const { s1 } = await openSessions(db, ['s1']);
    let served = 0;
    for (let round = 0; round < 25; round++) {
      const jobs = makeJobs(dice, queues);
      await s1.begin();
      const together = { answers: await popMulti(s1, jobs), cursors: await cursors(s1) };
      await s1.rollback();
      await s1.begin();
      const oneByOne = {
        answers: await inTurn(jobs, (job) => popAlone(s1, job)),
        cursors: await cursors(s1),
      };
      // Every third state is kept, so that the next ones grow out of it.
      await (round % 3 === 0 ? s1.commit() : s1.rollback());
      expect({ seed, round, jobs, ...together }).toEqual({ seed, round, jobs, ...oneByOne });
      served += together.answers.filter(({ batches }) => batches.length > 0).length;
    }
    expect(served).toBeGreaterThan(10);
  });

  it('agree on a batch that was handed out before', async () => {
    await pushMessages(db, 'again', 'p', ['a', 'b', 'c']);
    await makeLease(db, 'again', 'p', { worker: 'w0', budget: 2 });
    await expireLease(db, 'again', 'p');
    const [again] = await popMulti(db, [{ queue: 'again', names: ['p'], budget: 5, worker: 'w1' }]);
    expect(again.batches).toEqual([{ partition: 'p', attempt: 2, texts: ['a', 'b', 'c'] }]);
    expect(await consumerRow(db, 'again', 'p')).toMatchObject({ attemptCount: 2, attemptEnd: 2 });
  });
});
