import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { settings } from '../../src/base/config/settings.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { ageLastWrite, popWildcard, pushMessages, run } from '../support/make.js';
import { openSessions } from '../support/sessions.js';

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

describe('a push that commits long after it stamped its partition (Z34)', () => {
  it('is found although the floor of the scan moved meanwhile', async () => {
    await pushMessages(db, 'slow', 'p', ['first']);
    await popWildcard(db, 'slow', { autoAck: true });
    const { pusher } = await openSessions(db, ['pusher']);
    await pusher.begin();
    await pushMessages(pusher, 'slow', 'p', ['late']);
    // As if it had been open for as long as a statement may run here, and a second for the stamp's granularity.
    const openSeconds = statementTimeoutMaxMs() / 1000 + 1;
    await ageLastWrite(pusher, 'slow', 'p', openSeconds);
    await run(db, [`update queen.consumer_watermarks set updated_at = 'epoch'`, []]);
    expect((await popWildcard(db, 'slow', { autoAck: true })).texts).toEqual([]);
    const [{ moved }] = await run(db, [
      `select last_empty_scan_at > now() - interval '1 minute' as moved from queen.consumer_watermarks`,
      [],
    ]);
    expect(moved).toBe(true);
    await pusher.commit();
    expect((await popWildcard(db, 'slow', { autoAck: true })).texts).toEqual(['late']);
  });

  it('cannot be configured to be open for longer than the slack of two minutes', () => {
    expect(statementTimeoutMaxMs() + 2000 + 1000).toBeLessThan(120_000);
  });
});

function statementTimeoutMaxMs(): number {
  return Number(settings.QUEEN_STMT_TIMEOUT_MS.bounds.split('..')[1]);
}
