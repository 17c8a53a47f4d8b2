import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { OldestTransaction } from '../../src/retention/oldest-transaction.js';
import { startBroker, type TestBroker } from '../support/broker.js';
import { scrapeFamilies } from '../support/scrape.js';

const NAME = 'queen_database_oldest_transaction_seconds';

describe('a transaction left open', () => {
  let broker: TestBroker;
  beforeAll(async () => {
    broker = await startBroker();
  });
  afterAll(() => broker.stop());

  const row = async () =>
    (await broker.database.query('select * from queen.oldest_transaction_v1()')).rows as Record<
      string,
      unknown
    >[];

  it('is found by its session as soon as it has a snapshot, shown as a metric, and forgotten when it ends', async () => {
    const session = await broker.database.connect({ application_name: 'forgotten report' });
    await session.query('begin isolation level repeatable read');
    const named = async () => (await row()).some(({ r_application: name }) => name === 'forgotten report');
    expect(await named()).toBe(false);
    await session.query('select count(*) from queen.queues');
    expect(await named()).toBe(true);
    expect((await row())[0]).toMatchObject({ r_state: 'idle in transaction' });

    const oldest = broker.broker.app.get(OldestTransaction);
    await oldest.look();
    expect(oldest.ageMs).toBeGreaterThan(0);
    const families = await scrapeFamilies(broker.base);
    expect(families.get(NAME)?.series[0].value).toBeGreaterThan(0);

    await session.query('rollback');
    await session.end();
    expect(await named()).toBe(false);
  });
});
