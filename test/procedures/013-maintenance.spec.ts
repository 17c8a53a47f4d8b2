import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { countRows, run, scalar } from '../support/make.js';
import { openSessions } from '../support/sessions.js';

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

const takeCall = (name: string, holder: string, seconds = 60): [string, unknown[]] => [
  'select queen.leader_lease_take_v1($1, $2, $3) as taken',
  [name, holder, seconds],
];
const take = (name: string, holder: string, seconds = 60) =>
  scalar<boolean>(db, takeCall(name, holder, seconds));
const release = (name: string, holder: string) =>
  scalar<boolean>(db, ['select queen.leader_lease_release_v1($1, $2)', [name, holder]]);
const expire = (name: string) =>
  db.query(`update queen.leader_leases set expires_at = clock_timestamp() - interval '1 s' where name = $1`, [
    name,
  ]);

describe('a leader lease', () => {
  it('has one holder, who may renew it', async () => {
    expect(await take('one', 'a')).toBe(true);
    expect(await take('one', 'b')).toBe(false);
    expect(await take('one', 'a')).toBe(true);
    expect(await take('other work', 'b')).toBe(true);
  });

  it('of a holder that went quiet is taken over by time alone, and the old holder finds out', async () => {
    await take('quiet', 'a');
    await expire('quiet');
    expect(await take('quiet', 'b')).toBe(true);
    expect(await take('quiet', 'a')).toBe(false);
  });

  it('is renewed by its holder also after its time, when nobody came', async () => {
    await take('late', 'a');
    await expire('late');
    expect(await take('late', 'a')).toBe(true);
    expect(await take('late', 'b')).toBe(false);
  });

  it('that is given up is free at once, and only its holder can give it up', async () => {
    await take('given up', 'a');
    expect(await release('given up', 'b')).toBe(false);
    expect(await take('given up', 'b')).toBe(false);
    expect(await release('given up', 'a')).toBe(true);
    expect(await take('given up', 'b')).toBe(true);
  });

  it('outlives the session that took it: a pooler, or a dropped connection, changes nothing', async () => {
    const client = await db.connect();
    await client.query(...takeCall('session', 'a'));
    await client.end();
    expect(await take('session', 'b')).toBe(false);
    await expire('session');
    expect(await take('session', 'b')).toBe(true);
  });

  it('refuses without writing: ten brokers that ask leave no dead rows', async () => {
    await take('watched', 'a');
    const version = () =>
      scalar<string>(db, [
        `select ctid::text || xmin::text from queen.leader_leases where name = 'watched'`,
        [],
      ]);
    const before = await version();
    for (let i = 0; i < 10; i++) expect(await take('watched', `b${i}`)).toBe(false);
    expect(await version()).toBe(before);
  });

  it('that two take for the first time at once goes to one of them', async () => {
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    await s1.run(...takeCall('first', 'a'));
    const step = s2.start(...takeCall('first', 'b'));
    expect(await step.isBlocked(s1)).toBe(true);
    await s1.commit();
    expect(await step.result()).toEqual([{ taken: false }]);
  });
});

describe('the switches of maintenance', () => {
  const flags = async () => (await run(db, ['select * from queen.maintenance_flags_v1()', []]))[0];
  const set = (key: string, on: boolean) =>
    scalar(db, ['select queen.set_maintenance_flag_v1($1, $2)', [key, on]]);

  it('are off until somebody sets them, one by one, and stay set', async () => {
    expect(await flags()).toEqual({ r_push: false, r_pop: false });
    await set('maintenance_mode', true);
    expect(await flags()).toEqual({ r_push: true, r_pop: false });
    await set('pop_maintenance_mode', true);
    expect(await flags()).toEqual({ r_push: true, r_pop: true });
    await set('maintenance_mode', false);
    expect(await flags()).toEqual({ r_push: false, r_pop: true });
    expect(await countRows(db, 'system_state')).toBe(2);
  });

  it('are kept as {"enabled": boolean}; anything else counts as off', async () => {
    const { rows } = await db.query(
      `select value from queen.system_state where key = 'pop_maintenance_mode'`,
    );
    expect(rows).toEqual([{ value: { enabled: true } }]);
    await db.query(`update queen.system_state set value = '[]' where key = 'pop_maintenance_mode'`);
    expect(await flags()).toMatchObject({ r_pop: false });
  });
});
