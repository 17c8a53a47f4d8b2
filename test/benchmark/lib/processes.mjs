import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';

const MAIN = fileURLToPath(new URL('../../../dist/main.js', import.meta.url));
const LEAVE_WITH_PARENT = fileURLToPath(new URL('./leave-with-parent.mjs', import.meta.url));
const TICK_MS = 10; // USER_HZ is 100 on Linux
const PAGE_BYTES = 4096;
const LAST_WORDS = 4000;

/**
 * A broker process of its own with an embedded PostgreSQL of its own (durable settings), on loopback.
 * @param {Record<string, string>} settings environment on top
 * @param {string} [main] another entry point with the same contract (prints "listening on 127.0.0.1:<port>")
 */
export async function startBroker(settings = {}, main = MAIN) {
  const dataDir = mkdtempSync(join(tmpdir(), 'queen-bench-'));
  chmodSync(dataDir, 0o755); // as root the database server is another user, who must be able to enter
  // QUEEN_BENCH_PROF names a directory for a CPU profile of the broker.
  const profile = process.env.QUEEN_BENCH_PROF
    ? ['--cpu-prof', `--cpu-prof-dir=${process.env.QUEEN_BENCH_PROF}`]
    : [];
  const child = spawn(process.execPath, [...profile, '--import', LEAVE_WITH_PARENT, main], {
    env: {
      ...process.env,
      PORT: '0',
      QUEEN_BIND_ADDR: '127.0.0.1',
      QUEEN_DATA_DIR: dataDir,
      DATABASE_URL: '',
      PG_HOST: '',
      LOG_LEVEL: 'info',
      ...settings,
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let output = '';
  let stopping = false;
  const exited = new Promise((resolve) => child.once('exit', (code, signal) => resolve(signal ?? code)));
  child.stdin.on('error', () => undefined); // it left first
  const port = await new Promise((resolve, reject) => {
    child.stdout.on('data', (bytes) => {
      output = (output + bytes).slice(-LAST_WORDS);
      const found = /listening on 127\.0\.0\.1:(\d+)/.exec(output);
      if (found) resolve(Number(found[1]));
    });
    void exited.then((how) => {
      if (!stopping) console.error(`the broker left by itself with ${how}:\n${output}`);
      reject(new Error(`the broker left with ${how}`));
    });
  });
  const databaseUrl = settings.DATABASE_URL || readFileSync(join(dataDir, 'database.url'), 'utf8').trim();
  const sql = new pg.Client({ connectionString: databaseUrl, application_name: 'benchmark' });
  await sql.connect();
  const { rows } = await sql.query("select split_part(pg_read_file('postmaster.pid'), E'\\n', 1) as pid");
  const postmaster = Number(rows[0].pid);
  return {
    base: `http://127.0.0.1:${port}`,
    port,
    pid: child.pid,
    databaseUrl,
    sql,
    /** CPU, statements, WAL and memory so far; subtract two of them. */
    async usage() {
      return {
        atMs: performance.now(),
        brokerCpuMs: cpuMs(child.pid, postmaster),
        postgresCpuMs: cpuMs(postmaster),
        rssMb: Math.round(rssBytes(child.pid, postmaster) / 1048576),
        ...(await databaseCounters(sql)),
      };
    },
    async stop() {
      stopping = true;
      await sql.end();
      child.kill('SIGTERM');
      await exited;
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

async function databaseCounters(sql) {
  await sql.query('select pg_stat_clear_snapshot()');
  const { rows } = await sql.query(
    `select (select xact_commit + xact_rollback from pg_stat_database where datname = current_database())::float8 as transactions,
            pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as wal`,
  );
  return { transactions: rows[0].transactions, walBytes: rows[0].wal };
}

/** User and system time of a process and of all that descend from it, those that ended included. */
export function cpuMs(pid, except) {
  return familyOf(pid, except).reduce((sum, { fields }) => {
    const [user, system, endedUser, endedSystem] = fields.slice(11, 15).map(Number);
    return sum + (user + system + endedUser + endedSystem) * TICK_MS;
  }, 0);
}

/** Resident memory of a process and of all that descend from it. */
export function rssBytes(pid, except) {
  return familyOf(pid, except).reduce((sum, { fields }) => sum + Number(fields[21]) * PAGE_BYTES, 0);
}

/** `except`: a descendant that is left out, with its own descendants: the broker's embedded PostgreSQL. */
function familyOf(pid, except) {
  const children = new Map();
  for (const name of readdirSync('/proc')) {
    const fields = /^\d+$/.test(name) ? stat(name) : null;
    if (fields) children.set(fields[1], [...(children.get(fields[1]) ?? []), Number(name)]);
  }
  const family = [];
  const add = (one) => {
    const fields = one === except ? null : stat(one);
    if (!fields) return;
    family.push({ pid: one, fields });
    children.get(String(one))?.forEach(add);
  };
  add(pid);
  return family;
}

/** Fields of /proc/<pid>/stat after the command name, which may hold spaces. */
function stat(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return null;
  }
}
