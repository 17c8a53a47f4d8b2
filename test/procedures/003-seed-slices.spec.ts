import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  ageSegments,
  consumerRow,
  countRows,
  inTurn,
  makePartitions,
  makeQueue,
  numbered,
  pushMessages,
  QUEUE_MODE,
  scalar,
  TENANT,
} from '../support/make.js';

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

interface Wish {
  group?: string;
  mode?: string;
  from?: string;
}

function slice(queue: string, after: string | null, limit: number, { group = 'g', mode, from }: Wish = {}) {
  return scalar<string | null>(db, [
    'select queen.log_seed_slice_v1($1, $2, $3, $4, $5, $6, $7)',
    [queue, group, after, limit, mode ?? 'all', from ?? '', TENANT],
  ]);
}

/** Slice after slice until none is left; the number of statements it took. */
async function seedAll(queue: string, limit: number, wish: Wish = {}): Promise<number> {
  let statements = 0;
  let after: string | null = null;
  do {
    after = await slice(queue, after, limit, wish);
    statements++;
  } while (after !== null);
  return statements;
}

const committed = (queue: string, names: string[], group = 'g') =>
  inTurn(names, async (name) => (await consumerRow(db, queue, name, group))?.committed);

describe('seeding a large queue in slices', () => {
  it('leaves a queue alone that one slice would hold', async () => {
    const queueId = await makeQueue(db, 'small');
    await makePartitions(db, queueId, numbered('p', 3));
    expect(await slice('small', null, 3)).toBeNull();
    expect(await committed('small', numbered('p', 3))).toEqual([undefined, undefined, undefined]);
  });

  it('answers nothing for a queue that does not exist, and creates none', async () => {
    expect(await slice('nowhere', null, 1)).toBeNull();
    expect(await countRows(db, 'queues', 'name = $1', ['nowhere'])).toBe(0);
  });

  it('reaches every partition once, a slice at a time', async () => {
    const names = numbered('p', 7);
    await makePartitions(db, await makeQueue(db, 'seven'), names);
    expect(await slice('seven', null, 3)).toBe('p2');
    expect(await committed('seven', ['p2', 'p3'])).toEqual([-1, undefined]);
    expect(await seedAll('seven', 3)).toBe(4); // three that seed, one that finds nothing left
    expect(await committed('seven', names)).toEqual(names.map(() => -1));
  });

  it.each<[string, string, number | null]>([
    ['all', 'g', null],
    ['new', 'g', null],
    ['all', 'g', 150],
    ['new', QUEUE_MODE, null],
  ])('seeds what a registration would: mode %s, group %s, from %s s ago', async (mode, group, secondsAgo) => {
    const from =
      secondsAgo === null
        ? ''
        : await scalar<string>(db, [
            `select to_char((clock_timestamp() - make_interval(secs => $1)) at time zone 'UTC',
                            'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
            [secondsAgo],
          ]);
    const names = numbered('p', 4);
    const both = await inTurn(['sliced', 'whole'], async (how) => {
      const queue = `${how} ${mode} ${group} ${secondsAgo}`;
      const queueId = await makeQueue(db, queue);
      await inTurn(names.slice(1), (name) => pushMessages(db, queue, name, ['a', 'b']));
      await ageSegments(db, queue, 'p1', 300);
      await makePartitions(db, queueId, ['p0']);
      if (how === 'sliced') await seedAll(queue, 1, { group, mode, from });
      await db.query(
        `select queen.log_register_group_v1($1, $2, r.r_mode, r.r_at, $5)
         from queen.log_registration_v1($2, $3, $4) r`,
        [queueId, group, mode, from, TENANT],
      );
      return committed(queue, names, group);
    });
    expect(both[0]).toEqual(both[1]);
  });

  it('never moves a cursor that exists', async () => {
    const queueId = await makeQueue(db, 'moved');
    const [first] = await makePartitions(db, queueId, numbered('p', 3));
    await db.query(
      `insert into queen.log_consumers (partition_id, consumer_group, committed) values ($1, 'g', 41)`,
      [first],
    );
    await seedAll('moved', 1);
    expect(await committed('moved', numbered('p', 3))).toEqual([41, -1, -1]);
  });
});
