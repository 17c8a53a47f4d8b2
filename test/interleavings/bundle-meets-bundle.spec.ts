import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  claimTexts,
  countRows,
  numbered,
  pushMessages,
  pushMultiCall,
  run,
  scalar,
  segmentRows,
  type Pushed,
} from '../support/make.js';
import { expectSoundLog } from '../support/sound-log.js';
import { openSessions } from '../support/sessions.js';
import { deadlocks, storm } from '../support/storm.js';

jest.setTimeout(30_000);

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

describe('bundles over the same partitions in opposite order (Z5)', () => {
  const names = numbered('p', 20);
  const bundle = (queue: string, partitions: string[], text: string) =>
    pushMultiCall(partitions.map((partition) => ({ queue, partition, texts: [text] })));

  it('never deadlock on partitions that exist (A20)', async () => {
    const before = await deadlocks(db);
    await run(db, bundle('opposite', names, 'first'));
    const { rounds, failures } = await storm(db, { sessions: 6, forMs: 1500 }, (client, session, round) => {
      const order = session % 2 === 0 ? names : [...names].reverse();
      return run(client, bundle('opposite', order, `${session}-${round}`));
    });
    expect(failures).toEqual([]);
    expect(rounds).toBeGreaterThan(10);
    expect(await deadlocks(db)).toBe(before);
    for (const name of names) expectSoundLog(await segmentRows(db, 'opposite', name));
  });

  it('never deadlock while creating queues and partitions (A20)', async () => {
    const before = await deadlocks(db);
    const { failures } = await storm(db, { sessions: 4, rounds: 25 }, async (client, session, round) => {
      const targets = names.map((partition, i) => ({
        ...{ queue: `fresh ${round}.${i % 3}`, partition, texts: [`of ${session}`] },
      }));
      const verdicts = await scalar<Pushed[]>(
        client,
        pushMultiCall(session % 2 === 0 ? targets : targets.reverse()),
      );
      expect(verdicts.map(({ status }) => status)).toEqual(names.map(() => 'queued'));
    });
    expect(failures).toEqual([]);
    expect(await deadlocks(db)).toBe(before);
    expect(await countRows(db, 'queues', `name like 'fresh %'`)).toBe(75);
    const where = `queue_id in (select id from queen.queues where name like 'fresh %') and last_offset = 3`;
    expect(await countRows(db, 'log_partitions', where)).toBe(500);
  });

  it.each<[string, (name: string) => { queue: string; partition: string }]>([
    ['queues', (name) => ({ queue: `made ${name}`, partition: 'p' })],
    ['partitions', (name) => ({ queue: 'makes', partition: name })],
  ])(
    'create missing %s in the order of their names: whoever waits holds none that come later',
    async (_, target) => {
      await pushMessages(db, 'makes', 'exists', ['x']);
      const { s1, s2 } = await openSessions(db, ['s1', 's2']);
      await s1.begin();
      await run(s1, pushMultiCall([{ ...target('a'), texts: ['1'] }]));
      const targets = ['d', 'c', 'a', 'b'].map((name) => ({ ...target(name), texts: ['2'] }));
      const waiting = s2.start(...pushMultiCall(targets));
      expect(await waiting.isBlocked(s1)).toBe(true);

      const later = s1.start(
        ...pushMultiCall(['b', 'c', 'd'].map((name) => ({ ...target(name), texts: ['1'] }))),
      );
      expect(await later.isBlocked(s2)).toBe(false);
      await later.result();
      await s1.commit();
      const [{ result }] = await waiting.result();
      expect((result as Pushed[]).map(({ baseOffset }) => baseOffset)).toEqual([1, 1, 1, 1]);
    },
  );

  it('commit the segments beside a duplicate, with no gap where it was (Z15)', async () => {
    await pushMessages(db, 'beside', 'p1', ['known']);
    const call = pushMultiCall([
      { queue: 'beside', partition: 'p0', texts: ['a'] },
      { queue: 'beside', partition: 'p1', texts: ['b', 'known'] },
      { queue: 'beside', partition: 'p2', texts: ['c'] },
    ]);
    const verdicts = await scalar<Pushed[]>(db, call);
    expect(verdicts.map(({ status }) => status)).toEqual(['queued', 'duplicate', 'queued']);
    expect(await pushMessages(db, 'beside', 'p1', ['b'])).toMatchObject({ baseOffset: 1 });
    expect(await claimTexts(db, 'beside', 'p1')).toEqual(['known', 'b']);
  });
});
