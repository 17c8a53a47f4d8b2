import { chmod, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it, jest } from '@jest/globals';
import { BrokerProcess } from '../support/broker-process.js';
import { clientOf } from '../support/client.js';
import { waitFor } from '../support/wait-for.js';

jest.setTimeout(120_000);

let broker: BrokerProcess & { port: number };
let dataDir: string;
afterEach(async () => {
  await broker.end();
  await rm(dataDir, { recursive: true, force: true });
});

async function serverPid(): Promise<number> {
  const file = await readFile(join(dataDir, 'pg', 'postmaster.pid'), 'utf8');
  return Number(file.split('\n')[0]);
}

it('an embedded PostgreSQL that ends by itself is started again; one that cannot be ends the broker, which says so', async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'queen-nest-lost-'));
  await chmod(dataDir, 0o755);
  broker = await BrokerProcess.start({
    DATABASE_URL: '',
    QUEEN_DATA_DIR: dataDir,
    QUEEN_SHUTDOWN_LINGER_MS: 0,
  });
  const at = clientOf(broker.port);
  expect((await at.push([{ queue: 'q', payload: 1 }])).status).toBe(201);

  process.kill(await serverPid(), 'SIGKILL');
  await broker.said(/PostgreSQL runs again/);
  const popped = async () => {
    const { status, body } = await at.pop('q', { consumerGroup: 'g' });
    return status === 200 ? body.messages[0].data : undefined;
  };
  expect(await waitFor(popped, { within: 60_000, what: 'the message to be served' })).toBe(1);

  const pid = await serverPid();
  await rename(join(dataDir, 'pg', 'PG_VERSION'), join(dataDir, 'pg', 'no-version'));
  process.kill(pid, 'SIGKILL');
  expect(await waitFor(broker.exit, { within: 60_000, what: 'the broker to give up' })).toEqual({
    code: 1,
    signal: null,
  });
  expect(broker.lines).toMatch(
    /the embedded PostgreSQL is lost: .*6 attempts to start it again were in vain/,
  );
  expect(broker.lines).toMatch(/without a database: draining/);
});
