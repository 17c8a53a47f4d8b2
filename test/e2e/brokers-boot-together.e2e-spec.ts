import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { BrokerProcess } from '../support/broker-process.js';
import { clientOf } from '../support/client.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { countRows } from '../support/make.js';

/*
 * Field case A21, with processes: several brokers begin on an empty database at the same moment, and one of them is
 * killed in the middle of the schema. (Twenty at once, edited and newer schemas, traffic meanwhile:
 * test/integration/schema-applied-by-many.spec.ts and test/interleavings/schema-meets-traffic.spec.ts.)
 */

jest.setTimeout(120_000);

let db: TestDatabase;
const brokers: BrokerProcess[] = [];
beforeEach(async () => {
  db = await createTestDatabase({ empty: true });
});
afterEach(async () => {
  for (const broker of brokers.splice(0)) await broker.end();
  await db.drop();
});

const spawn = () => {
  const broker = BrokerProcess.spawn({ DATABASE_URL: db.url, QUEEN_SHUTDOWN_LINGER_MS: 0, DB_POOL_SIZE: 6 });
  brokers.push(broker);
  return broker;
};
const portOf = async (broker: BrokerProcess) =>
  Number((await broker.said(/listening on [^ ]*:(\d+)/, 120_000))[1]);

it('three that begin at once on an empty database all come up, and the schema is applied once (A21)', async () => {
  const ports = await Promise.all([spawn(), spawn(), spawn()].map(portOf));
  const applied = brokers.filter(({ lines }) => /applied \d+ migrations/.test(lines));
  expect(applied).toHaveLength(1);
  const { rows } = await db.query(
    'select count(*)::int as n from queen.schema_migrations group by name having count(*) > 1',
  );
  expect(rows).toEqual([]);
  await clientOf(ports[0]).push([{ queue: 'q', payload: 1 }]);
  const { body } = await clientOf(ports[1]).pop('q', { consumerGroup: 'g', wait: true, timeout: 60_000 });
  expect((await clientOf(ports[2]).ack(body.messages)).body).toMatchObject([{ success: true }]);
});

it('one that is killed inside the schema leaves no lock behind, and the next goes on where it ended (A21)', async () => {
  const first = spawn();
  await first.said(/applied migration 0001/);
  await first.end();
  const done = await countRows(db, 'schema_migrations');
  expect(done).toBeGreaterThan(0);
  const port = await portOf(spawn());
  expect((await clientOf(port).push([{ queue: 'q', payload: 1 }])).status).toBe(201);
  const { rows } = await db.query(
    `select 1 from pg_locks l join pg_database d on d.oid = l.database
      where l.locktype = 'advisory' and d.datname = current_database()`,
  );
  expect(rows).toEqual([]);
});
