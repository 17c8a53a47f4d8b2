/**
 * Where the tests find PostgreSQL, in this order: TEST_DATABASE_URL; a container, where a Docker engine answers;
 * the embedded server. Each comes as { adminUrl, description, stop }, `adminUrl` a role that may create databases.
 */
import { chmod, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dockerAnswers } from './docker-engine.mjs';

const IMAGE = 'postgres:18';
const DIRECTORY_PREFIX = 'queen-nest-test-';

export async function postgresForTests() {
  const url = process.env.TEST_DATABASE_URL;
  if (url) return { adminUrl: url, description: 'TEST_DATABASE_URL', stop: async () => undefined };
  if (await dockerAnswers()) {
    try {
      return await inContainer();
    } catch (error) {
      process.stdout.write(`\nDocker answers, but ${IMAGE} does not start there: ${error.message}\n`);
    }
  }
  return embedded();
}

async function inContainer() {
  const { PostgreSqlContainer } = await import('@testcontainers/postgresql');
  const container = await new PostgreSqlContainer(IMAGE)
    .withCommand(['postgres', '-c', 'fsync=off', '-c', 'max_connections=300', '-c', 'jit=off'])
    .withStartupTimeout(120_000)
    .start();
  return {
    adminUrl: container.getConnectionUri(),
    description: `testcontainers, ${IMAGE}`,
    stop: async () => void (await container.stop()),
  };
}

async function embedded() {
  const { startEmbeddedPostgres } = await import('../../dist/embedded-postgres/embedded-postgres.js');
  const log = (line) => process.stdout.write(`  ${line}\n`);
  const start = (dataDir) =>
    startEmbeddedPostgres({
      dataDir,
      fsync: false,
      log: () => undefined,
      extraSettings: { max_connections: '300' },
    });

  for (const dataDir of await leftovers()) {
    // Of a run that was killed: its server still lives, is adopted by this call and so can be stopped.
    const old = await start(dataDir).catch(() => null);
    if (old === null) continue;
    await old.stop();
    await rm(dataDir, { recursive: true, force: true });
    log(`stopped the server of an earlier test run and removed ${dataDir}`);
  }
  const dataDir = await mkdtemp(join(tmpdir(), DIRECTORY_PREFIX));
  await chmod(dataDir, 0o755); // as root the server is another user, who must be able to enter
  const server = await start(dataDir);
  const adminUrl = new URL(server.url);
  adminUrl.pathname = '/postgres';
  return {
    adminUrl: adminUrl.href,
    description: `embedded, process ${server.pid} on port ${server.port}`,
    stop: async () => {
      await server.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Directories of runs that did not end well. One without a lock file may belong to a run that just begins. */
async function leftovers() {
  const names = (await readdir(tmpdir())).filter((name) => name.startsWith(DIRECTORY_PREFIX));
  const directories = names.map((name) => join(tmpdir(), name));
  const found = await Promise.all(
    directories.map((directory) =>
      stat(join(directory, 'broker.pid')).then(
        () => [directory],
        () => [],
      ),
    ),
  );
  return found.flat();
}
