import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { BrokerProcess } from '../support/broker-process.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { RawConnection, rawRequest } from '../support/raw-http.js';
import { waitFor } from '../support/wait-for.js';

/** Fewer, and the broker cannot start: Node opens some hundred modules at once. */
const FILES = 700;
const SOCKETS = 1100;
const LONG = { within: 100_000 };

let database: TestDatabase;
let broker: (BrokerProcess & { port: number }) | undefined;
let sockets: RawConnection[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await broker?.end();
});
afterAll(() => database.drop());

const HEALTH = rawRequest('GET', '/health');
const PUSH = rawRequest('POST', '/api/v1/push', '{"items":[{"queue":"crowded","payload":1}]}');

/** The status of an answer on a connection of its own; null when the broker does not take it. */
async function askAnew(port: number, request: Buffer): Promise<number | null> {
  const connection = await RawConnection.open(port);
  connection.send(request);
  await waitFor(() => connection.unread.length > 0 || !connection.isOpen, {
    ...LONG,
    what: 'an answer, or the end of the connection',
  });
  const status = connection.unread.length > 0 ? (await connection.response(LONG)).status : null;
  connection.destroy();
  return status;
}

describe('a broker that may have few files open', () => {
  it('survives more connections than it has files for, serves those it has, and takes new ones when they leave', async () => {
    broker = await BrokerProcess.start(
      {
        DATABASE_URL: database.url,
        DB_POOL_SIZE: 12,
        QUEEN_SPOOL: 'false',
        QUEEN_HEADERS_TIMEOUT_MS: 600_000,
      },
      FILES,
    );
    const { port } = broker;
    const early = await RawConnection.open(port);
    sockets = [early];
    expect((await early.send(PUSH).response(LONG)).status).toBe(201);
    for (let i = 0; i < SOCKETS; i++) sockets.push(await RawConnection.open(port));

    await broker.said(/a connection was closed: \d+ are open, raise the file limit/);
    await waitFor(() => sockets.filter(({ isOpen }) => !isOpen).length >= SOCKETS - FILES, {
      ...LONG,
      what: 'those that are too many to be closed',
    });
    expect(await askAnew(port, HEALTH)).toBeNull();
    // The database has its connections: a push needs one.
    expect((await early.send(PUSH).response(LONG)).status).toBe(201);
    expect(sockets.filter(({ isOpen }) => isOpen).length).toBeGreaterThan(FILES / 2);

    for (const socket of sockets) socket.destroy();
    await waitFor(async () => (await askAnew(port, HEALTH)) === 200, {
      ...LONG,
      what: 'new connections to be taken',
    });
    expect(await askAnew(port, PUSH)).toBe(201);
    expect(broker.isRunning).toBe(true);
  }, 240_000);
});
