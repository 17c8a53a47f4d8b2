import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from './database.js';
import { openSessions } from './sessions.js';
import { waitFor } from './wait-for.js';

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
  await db.query('create table public.t (id int primary key, n int not null)');
  await db.query('insert into public.t values (1, 0), (2, 0)');
});

afterAll(() => db.drop());

describe('a step', () => {
  it('is seen blocked by the session whose row lock it waits for, and goes on after the commit', async () => {
    const { s1, s2, s3 } = await openSessions(db, ['s1', 's2', 's3']);
    await s1.begin();
    await s1.run('update public.t set n = n + 1 where id = 1');
    const waiting = s2.start('update public.t set n = n + 1 where id = 1 returning n');

    expect(await waiting.isBlocked()).toBe(true);
    expect(await waiting.isBlocked(s1)).toBe(true);
    expect(await waiting.isBlocked(s3, 50)).toBe(false);
    expect(await waiting.finishedWithin(20)).toBe(false);

    await s1.commit();
    expect(await waiting.result()).toEqual([{ n: 2 }]);
    expect(await waiting.finishedWithin(0)).toBe(true);
  });

  it('that meets no lock is not blocked', async () => {
    const { s1 } = await openSessions(db, ['s1']);
    const step = s1.start('update public.t set n = 0 where id = 2 returning id');
    expect(await step.isBlocked()).toBe(false);
    expect(await step.result()).toEqual([{ id: 2 }]);
  });

  it('hands on the error of its statement', async () => {
    const { s1 } = await openSessions(db, ['s1']);
    const step = s1.start('select 1 / 0');
    expect(await step.finishedWithin(2000)).toBe(true);
    await expect(step.result()).rejects.toThrow('division by zero');
  });

  it('that does not end in time fails by name', async () => {
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    await s1.run('lock table public.t in access exclusive mode');
    const step = s2.start('select count(*) from public.t');
    await expect(step.result(50)).rejects.toThrow('waited 50 ms in vain for a step of s2 to end');
    await s1.rollback();
    await step.result();
  });
});

describe('a test database', () => {
  it('has the schema of the broker', async () => {
    const { rows } = await db.query(`select to_regclass('queen.schema_migrations') is not null as present`);
    expect(rows).toEqual([{ present: true }]);
  });

  it('fails at its end when somebody else has left a session open, and is dropped all the same', async () => {
    const leaky = await createTestDatabase();
    const forgotten = new pg.Client({ connectionString: leaky.url, application_name: 'forgotten' });
    forgotten.on('error', () => undefined);
    await forgotten.connect();
    await expect(leaky.drop()).rejects.toThrow(/1 sessions are still open on .*\n {2}forgotten \| idle/);
    const { rows } = await db.query('select 1 from pg_database where datname = $1', [leaky.name]);
    expect(rows).toEqual([]);
    await waitFor(
      forgotten.end().catch(() => undefined),
      { within: 2000, what: 'the client to end' },
    );
  });
});

describe('waitFor', () => {
  it('returns what the condition gives as soon as it is truthy', async () => {
    let calls = 0;
    const value = await waitFor(() => (++calls === 3 ? 'there' : null), { within: 1000, what: 'it' });
    expect([value, calls]).toEqual(['there', 3]);
  });

  it('says in its failure what was missing and what the condition threw', async () => {
    const failing = waitFor(
      () => {
        throw new Error('not yet');
      },
      { within: 20, what: 'the moon' },
    );
    await expect(failing).rejects.toMatchObject({
      message: 'waited 20 ms in vain for the moon',
      cause: { message: 'not yet' },
    });
  });

  it('does not outlast its limit on a condition that never answers', async () => {
    const stuck = waitFor(() => new Promise<boolean>(() => undefined), { within: 20, what: 'an answer' });
    await expect(stuck).rejects.toThrow('waited 20 ms in vain for an answer');
  });
});
