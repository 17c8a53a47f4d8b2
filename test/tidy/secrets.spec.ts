import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Logger, type LoggerService } from '@nestjs/common';
import pg from 'pg';
import { ConfigurationError, parseEnvironment } from '../../src/base/config/environment.js';
import { createBroker, type Broker } from '../../src/boot/create-broker.js';
import { databaseFrom } from '../../src/boot/database-from.js';
import { prepareSchema } from '../../src/boot/prepare-schema.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { waitFor } from '../support/wait-for.js';

/**
 * The password of the database is in no log line and in no answer, least of all when the database fails: that is when
 * people copy both into a ticket.
 */
const SECRET = `s3cret-${randomBytes(12).toString('hex')}`;

/** Everything that is logged, stacks and contexts included. */
class Listener implements LoggerService {
  readonly lines: string[] = [];
  private readonly keep = (...parts: unknown[]) => void this.lines.push(parts.map(textOf).join(' '));
  log = this.keep;
  error = this.keep;
  warn = this.keep;
  debug = this.keep;
  verbose = this.keep;
  fatal = this.keep;
}

/** As a logger would print it, hidden fields of errors included. */
function textOf(part: unknown): string {
  if (typeof part !== 'object' || part === null) return String(part);
  const fields = part as Record<string, unknown>;
  return Object.getOwnPropertyNames(part)
    .map(
      (name) => `${name}: ${name === 'cause' ? textOf(fields[name]) : (JSON.stringify(fields[name]) ?? '')}`,
    )
    .join('\n');
}

/** Where a broker may write pushes down while the database is away. */
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'queen-secrets-'));
});

afterAll(() => rm(directory, { recursive: true }));

const common = { PORT: '0', QUEEN_BIND_ADDR: '127.0.0.1', DB_POOL_WAIT_MS: '300', LOG_LEVEL: 'silent' };

describe('a database that cannot be reached at start', () => {
  it.each([
    ['DATABASE_URL', { DATABASE_URL: `postgres://keeper:${SECRET}@127.0.0.1:1/queen` }],
    ['PG_PASSWORD', { PG_HOST: '127.0.0.1', PG_PORT: '1', PG_USER: 'keeper', PG_PASSWORD: SECRET }],
  ])('is reported without the password of %s', async (_, variables) => {
    const environment = parseEnvironment({ ...common, ...variables });
    const listener = new Listener();
    Logger.overrideLogger(listener);
    const database = databaseFrom(environment);
    const failures = [
      await prepareSchema(database, true).catch((error: unknown) => error),
      await createBroker(environment, database, listener).catch((error: unknown) => error),
    ];
    for (const failure of failures) {
      expect(failure).toMatchObject({ message: expect.stringMatching(/./) });
      expect(textOf(failure)).not.toContain(SECRET);
    }
    expect(listener.lines.join('\n')).not.toContain(SECRET);
  });
});

describe('a configuration with a fault', () => {
  it('is reported without the secret in it', () => {
    const parse = () => parseEnvironment({ DATABASE_URL: `mysql://keeper:${SECRET}@db/queen`, PORT: 'many' });
    expect(parse).toThrow(ConfigurationError);
    expect(parse).toThrow('PORT must be a whole number, not "many"');
    expect(parse).toThrow('DATABASE_URL must be a postgres:// or postgresql:// address');
    expect(parse).not.toThrow(SECRET);
  });
});

describe('a database that goes away under a running broker', () => {
  const role = `keeper_${randomBytes(4).toString('hex')}`;
  const listener = new Listener();
  let db: TestDatabase;
  let admin: pg.Client;
  let broker: Broker;
  let base: string;

  beforeAll(async () => {
    db = await createTestDatabase();
    admin = new pg.Client({ connectionString: process.env.QUEEN_TEST_ADMIN_URL });
    await admin.connect();
    await admin.query(`create role ${role} login superuser password '${SECRET}'`);
    const url = new URL(db.url);
    [url.username, url.password] = [role, SECRET];
    const environment = parseEnvironment({
      ...common,
      DATABASE_URL: url.href,
      DB_POOL_SIZE: '20',
      FILE_BUFFER_DIR: directory,
    });
    Logger.overrideLogger(listener);
    broker = await createBroker(environment, databaseFrom(environment), listener);
    base = `http://127.0.0.1:${await broker.listen()}`;
  });

  afterAll(async () => {
    await broker.close();
    await admin.query(`alter database ${db.name} with allow_connections true`);
    await db.drop();
    await admin.query(`drop role ${role}`);
    await admin.end();
  });

  const push = () =>
    fetch(`${base}/api/v1/push`, { method: 'POST', body: '{"items":[{"queue":"q","payload":1}]}' });

  it('is used with the password first', async () => {
    expect((await push()).status).toBe(201);
  });

  it('fails every route without telling it, in the answer or in the log', async () => {
    await admin.query(`alter database ${db.name} with allow_connections false`);
    await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [db.name]);
    const id = '00000000-0000-4000-8000-000000000000';
    const ack = { transactionId: 't', partitionId: id, leaseId: id, status: 'completed' };
    const post = (path: string, body: object) =>
      fetch(base + path, { method: 'POST', body: JSON.stringify(body) });
    const routes = [
      push,
      () => fetch(`${base}/api/v1/pop/queue/q?consumerGroup=g`),
      () => fetch(`${base}/api/v1/pop/queue/q/partition/Default`),
      () => fetch(`${base}/api/v1/pop?namespace=q`),
      () => post('/api/v1/ack', ack),
      () => post(`/api/v1/lease/${id}/extend`, {}),
      () => post('/api/v1/configure', { queue: 'q', options: {} }),
      () => fetch(`${base}/api/v1/resources/queues/q`, { method: 'DELETE' }),
    ];
    const statuses: number[] = [];
    for (const route of routes) {
      const answer = await route();
      const text = await answer.text();
      statuses.push(answer.status);
      expect(text).not.toMatch(new RegExp(`${SECRET}|${role}|postgres(ql)?://`));
    }
    // A push may be written down instead, and an ack answers item by item; the others cannot but fail.
    expect(statuses.filter((status) => status >= 500).length).toBeGreaterThanOrEqual(5);

    const unhealthy = async () => (await fetch(`${base}/health`)).status === 503;
    await waitFor(unhealthy, { within: 10_000, what: 'the probe to notice' });
    expect(await (await fetch(`${base}/health`)).text()).not.toContain(SECRET);

    expect(listener.lines.length).toBeGreaterThan(0);
    expect(listener.lines.filter((line) => line.includes(SECRET))).toEqual([]);
    for (const file of await readdir(directory, { recursive: true, withFileTypes: true })) {
      if (file.isFile()) {
        expect(await readFile(join(file.parentPath, file.name), 'latin1')).not.toContain(SECRET);
      }
    }
  });
});
