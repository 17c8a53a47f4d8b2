import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
} from '../../src/embedded-postgres/embedded-postgres.js';
import { isAlive, processAt } from '../../src/base/process-lock/process-identity.js';
import { firstClosedDirectory } from '../../src/embedded-postgres/traversal.js';
import { waitFor } from '../support/wait-for.js';

jest.setTimeout(60_000);

const NOBODY = { uid: 65_534, gid: 65_534, name: 'nobody' };
const FIXTURE = fileURLToPath(new URL('../support/embedded-broker.mjs', import.meta.url));
const isRoot = process.getuid?.() === 0;
const itOnLinux = process.platform === 'linux' ? it : it.skip;
const itAsRoot = isRoot ? it : it.skip;
const itAsRootInTheOpen =
  isRoot && firstClosedDirectory(realpathSync(FIXTURE + '/..'), NOBODY) === null ? it : it.skip;

interface Report {
  url: string;
  port: number;
  adopted: boolean;
  pid: number;
  lines: string[];
  failed?: string;
}

let root: string;
let dataDir: string;
let shelterDir: string;
let lines: string[];
const cleanUp: (() => unknown)[] = [];

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'embedded-')));
  chmodSync(root, 0o755);
  dataDir = join(root, 'data');
  shelterDir = join(root, 'shelter');
  lines = [];
});

afterEach(async () => {
  for (const step of cleanUp.splice(0).reverse()) await step();
  rmSync(root, { recursive: true });
});

async function start(directory = dataDir): Promise<EmbeddedPostgres> {
  const log = (line: string) => void lines.push(line);
  const server = await startEmbeddedPostgres({ dataDir: directory, shelterDir, fsync: false, log });
  cleanUp.push(() => server.stop());
  return server;
}

/** A broker in a process of its own, up to the moment when its database runs. */
async function startBroker(
  account?: { uid: number; gid: number },
  durable = false,
): Promise<{
  child: ChildProcess;
  report: Report;
}> {
  const child = spawn(process.execPath, [FIXTURE, dataDir, shelterDir, ...(durable ? ['durable'] : [])], {
    stdio: ['ignore', 'pipe', 'inherit'],
    ...(account && { uid: account.uid, gid: account.gid }),
  });
  cleanUp.push(() => child.kill('SIGTERM'));
  const [line] = (await once(createInterface({ input: child.stdout! }), 'line')) as [string];
  return { child, report: JSON.parse(line) as Report };
}

async function kill(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const ended = once(child, 'exit');
  child.kill(signal);
  await ended;
}

async function ask(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined); // a server that is killed: the statement under way tells
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

const gone = (pid: number) =>
  waitFor(() => processAt(pid) === null, { within: 20_000, what: `process ${pid} to end` });

describe('the embedded PostgreSQL', () => {
  it('starts on an empty directory with the promised settings, and leaves nothing running', async () => {
    const server = await start();
    const [settings] = await ask(
      server.url,
      `select current_setting('listen_addresses') as addresses, current_setting('server_encoding') as encoding,
              current_setting('TimeZone') as zone, current_setting('jit') as jit, current_database() as database,
              (select datcollate from pg_database where datname = current_database()) as collation`,
    );
    expect(settings).toEqual({
      addresses: '127.0.0.1',
      encoding: 'UTF8',
      zone: 'UTC',
      jit: 'off',
      database: 'queen',
      collation: 'C.UTF-8',
    });
    expect(readFileSync(join(dataDir, 'database.url'), 'utf8').trim()).toBe(server.url);
    expect(statSync(join(dataDir, 'database.url')).mode & 0o777).toBe(0o600);
    await expect(ask(server.url.replace(server.password, 'wrong'), 'select 1')).rejects.toThrow(/password/);

    await Promise.all([server.stop(), server.stop()]);
    expect(processAt(server.pid)).toBeNull();
    expect(existsSync(join(dataDir, 'broker.pid'))).toBe(false);
  });

  it('keeps data, port and password between runs', async () => {
    const first = await start();
    await ask(first.url, 'create table kept as select 42 as answer');
    await first.stop();
    const second = await start();
    expect(second.url).toBe(first.url);
    expect(second.adopted).toBe(false);
    expect(await ask(second.url, 'select answer from kept')).toEqual([{ answer: 42 }]);
  });

  it('is taken over after the broker was killed, and then stopped like our own', async () => {
    const { child, report } = await startBroker();
    await ask(report.url, 'create table kept as select 42 as answer');
    await kill(child, 'SIGKILL');
    expect(processAt(report.pid)).not.toBeNull();

    const server = await start();
    expect(server).toMatchObject({ adopted: true, pid: report.pid, url: report.url });
    expect(lines).toEqual([expect.stringContaining(`took over PostgreSQL (process ${report.pid})`)]);
    expect(await ask(server.url, 'select answer from kept')).toEqual([{ answer: 42 }]);
    await server.stop();
    await gone(report.pid);
  });

  it('is started again on its port when it ends by itself, adopted or not, and is stopped as before', async () => {
    const server = await start();
    await ask(server.url, 'create table kept as select 1 as n');
    await ask(server.url, 'checkpoint'); // without fsync a commit alone does not outlive a kill
    for (let life = 1; life <= 2; life++) {
      const before = server.pid;
      process.kill(before, 'SIGKILL');
      await waitFor(async () => (await ask(server.url, 'select n from kept')).length === 1, {
        within: 50_000,
        what: 'the server to be back',
      });
      await waitFor(() => server.pid !== before, { within: 10_000, what: 'its new process to be known' });
    }
    expect(lines.filter((line) => line === 'PostgreSQL runs again')).toHaveLength(2);
    const { pid } = server;
    await server.stop();
    await gone(pid);
    expect(lines.filter((line) => /ended by itself/.test(line))).toHaveLength(2);
  }, 120_000);

  it('refuses a second broker while the first one lives, whose database goes on', async () => {
    const { child, report } = await startBroker();
    await expect(start()).rejects.toThrow(`Another broker (process ${child.pid}) already uses ${dataDir}`);
    expect(await ask(report.url, 'select 1 as one')).toEqual([{ one: 1 }]);
    await kill(child, 'SIGTERM');
    await gone(report.pid);
    expect((await start()).adopted).toBe(false);
  });

  it('of three brokers that start at once lets one in', async () => {
    const brokers = await Promise.all([startBroker(), startBroker(), startBroker()]);
    const refused = brokers.filter(({ report }) => report.failed !== undefined);
    expect(refused).toHaveLength(2);
    for (const { report } of refused) expect(report.failed).toMatch(/Another broker/);
  });

  it('recovers every committed row when broker and server were both killed', async () => {
    const { child, report } = await startBroker(undefined, true);
    await ask(report.url, 'create table kept as select 42 as answer');
    await kill(child, 'SIGKILL');
    process.kill(report.pid, 'SIGKILL');
    await gone(report.pid);
    expect(existsSync(join(dataDir, 'pg', 'postmaster.pid'))).toBe(true);

    const server = await start();
    expect(server.adopted).toBe(false);
    expect(await ask(server.url, 'select answer from kept')).toEqual([{ answer: 42 }]);
  });

  it('is not fooled by a left-over file whose number belongs to another process', async () => {
    await (await start()).stop();
    const owner = statSync(join(dataDir, 'pg'));
    // A process of the very user that the server runs as: for PostgreSQL itself that would be a reason to refuse.
    const other = spawn('sleep', ['60'], { ...(isRoot && { uid: owner.uid, gid: owner.gid }), cwd: '/' });
    cleanUp.push(() => other.kill());
    const file = join(dataDir, 'pg', 'postmaster.pid');
    writeFileSync(file, `${other.pid}\n${join(dataDir, 'pg')}\n1\n1\n\n127.0.0.1\n\nready   \n`);
    chownSync(file, owner.uid, owner.gid);

    const server = await start();
    expect(server.adopted).toBe(false);
    expect(await ask(server.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  it('moves to another port when its own was taken meanwhile, and says so', async () => {
    const first = await start();
    await first.stop();
    const squatter = createServer().listen(first.port, '127.0.0.1');
    await once(squatter, 'listening');
    cleanUp.push(() => squatter.close());
    lines = [];

    const second = await start();
    expect(second.port).not.toBe(first.port);
    expect(lines).toContain(
      `port ${first.port} is taken by another program: PostgreSQL moves to port ${second.port}`,
    );
    expect(readFileSync(join(dataDir, 'database.url'), 'utf8').trim()).toBe(second.url);
    expect(second.password).toBe(first.password);
  });

  it('gets a new password when database.url is lost, whether the server was stopped or left running', async () => {
    const first = await start();
    await ask(first.url, 'create table kept as select 42 as answer');
    await first.stop();
    rmSync(join(dataDir, 'database.url'));

    const { child, report } = await startBroker();
    expect(report.url).not.toContain(first.password);
    expect(await ask(report.url, 'select answer from kept')).toEqual([{ answer: 42 }]);
    await kill(child, 'SIGKILL');
    rmSync(join(dataDir, 'database.url'));

    const second = await start();
    expect(second.adopted).toBe(false);
    expect(await ask(second.url, 'select answer from kept')).toEqual([{ answer: 42 }]);
  });

  it('clears away a cluster that was never finished', async () => {
    mkdirSync(join(dataDir, 'pg.init-killed', 'data'), { recursive: true });
    await start();
    expect(existsSync(join(dataDir, 'pg.init-killed'))).toBe(false);
  });

  it('refuses files of another major version, changes nothing and frees the directory', async () => {
    mkdirSync(join(dataDir, 'pg'), { recursive: true });
    writeFileSync(join(dataDir, 'pg', 'PG_VERSION'), '9\n');
    await expect(start()).rejects.toThrow(
      /written by PostgreSQL 9; this installation brings PostgreSQL \d\d/,
    );
    expect(readFileSync(join(dataDir, 'pg', 'PG_VERSION'), 'utf8')).toBe('9\n');
    expect(existsSync(join(dataDir, 'broker.pid'))).toBe(false);
  });

  it('refuses a folder with files that are no database', async () => {
    mkdirSync(join(dataDir, 'pg'), { recursive: true });
    writeFileSync(join(dataDir, 'pg', 'holiday.jpg'), '');
    await expect(start()).rejects.toThrow(/is not empty and holds no PostgreSQL database/);
  });

  it('tells what the server said when it does not start', async () => {
    const options = { dataDir, shelterDir, log: () => undefined, extraSettings: { max_connections: 'many' } };
    await expect(startEmbeddedPostgres(options)).rejects.toThrow(/did not start: .*max_connections/);
    expect(existsSync(join(dataDir, 'broker.pid'))).toBe(false);
  });

  itAsRoot('runs as another user than root, and takes over files that root has copied', async () => {
    const first = await start();
    await first.stop();
    expect(statSync(join(dataDir, 'pg')).uid).not.toBe(0);
    for (const path of ['pg', 'pg/PG_VERSION', 'pg/postgresql.conf']) chownSync(join(dataDir, path), 0, 0);
    await start();
    expect(statSync(join(dataDir, 'pg', 'PG_VERSION')).uid).not.toBe(0);
  });

  itAsRoot('works for root below a directory that nobody else may enter', async () => {
    chmodSync(root, 0o700);
    shelterDir = mkdtempSync(join(tmpdir(), 'embedded-shelter-'));
    chmodSync(shelterDir, 0o755);
    cleanUp.push(() => rmSync(shelterDir, { recursive: true }));

    const first = await start();
    await ask(first.url, 'create table kept as select 42 as answer');
    await first.stop();
    expect(lstatSync(join(dataDir, 'pg')).isSymbolicLink()).toBe(true);
    expect(realpathSync(join(dataDir, 'pg')).startsWith(realpathSync(shelterDir))).toBe(true);
    expect(lines.join('\n')).toContain(`may not enter ${root}`);

    const { child, report } = await startBroker();
    await kill(child, 'SIGKILL');
    const second = await start();
    expect(second).toMatchObject({ adopted: true, pid: report.pid });
    expect(await ask(second.url, 'select answer from kept')).toEqual([{ answer: 42 }]);
  });

  itAsRootInTheOpen(
    'works for an ordinary user, and later for root without taking the files away',
    async () => {
      mkdirSync(dataDir);
      chownSync(dataDir, NOBODY.uid, NOBODY.gid);
      const { child, report } = await startBroker(NOBODY);
      expect(report.failed).toBeUndefined();
      await ask(report.url, 'create table kept as select 42 as answer');
      await kill(child, 'SIGTERM');
      await gone(report.pid);

      const asRoot = await start();
      expect(await ask(asRoot.url, 'select answer from kept')).toEqual([{ answer: 42 }]);
      await asRoot.stop();
      for (const path of ['pg', 'pg/PG_VERSION', 'database.url']) {
        expect(statSync(join(dataDir, path)).uid).toBe(NOBODY.uid);
      }
      const again = await startBroker(NOBODY);
      expect(again.report.failed).toBeUndefined();
      expect(again.report.url).toBe(report.url);
    },
  );

  itOnLinux('does not hear a Ctrl-C in the terminal of the broker', async () => {
    const { child, report } = await startBroker();
    const server = processAt(report.pid)!;
    const groupOf = (pid: number) =>
      Number(/\) \S \d+ (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1]);
    expect(groupOf(report.pid)).toBe(report.pid);
    expect(groupOf(report.pid)).not.toBe(groupOf(child.pid ?? 0));
    await kill(child, 'SIGINT');
    expect(isAlive(server)).toBe(true);
    await (await start()).stop();
  });
});
