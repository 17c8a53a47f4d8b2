import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';

const MAIN = fileURLToPath(new URL('../../../dist/main.js', import.meta.url));
const TICK_MS = 10; // USER_HZ is 100 on Linux

/**
 * A broker process of its own with an embedded PostgreSQL of its own (durable settings), on loopback.
 * @param {Record<string, string>} settings environment on top
 * @param {string} [main] another entry point with the same contract (prints "listening on 127.0.0.1:<port>")
 */
export async function startBroker(settings = {}, main = MAIN) {
  const dataDir = mkdtempSync(join(tmpdir(), 'queen-bench-'));
  // QUEEN_BENCH_PROF names a directory for a CPU profile of the broker.
  const profile = process.env.QUEEN_BENCH_PROF
    ? ['--cpu-prof', `--cpu-prof-dir=${process.env.QUEEN_BENCH_PROF}`]
    : [];
  const child = spawn(process.execPath, [...profile, main], {
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
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  const port = await new Promise((resolve, reject) => {
    let output = '';
    child.stdout.on('data', (bytes) => {
      if (output !== null) output += bytes;
      const found = /listening on 127\.0\.0\.1:(\d+)/.exec(output ?? '');
      if (!found) return;
      output = null;
      resolve(Number(found[1]));
    });
    void exited.then((code) => reject(new Error(`the broker left with ${code}:\n${output}`)));
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
        brokerCpuMs: cpuMs(child.pid, false),
        postgresCpuMs: cpuMs(postmaster, true),
        rssMb: Math.round(rssBytes(child.pid) / 1048576),
        ...(await databaseCounters(sql)),
      };
    },
    async stop() {
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

/** User and system time of a process; with `family` its children too, those that ended included. */
export function cpuMs(pid, family) {
  const fields = stat(pid);
  if (!fields) return 0;
  let ticks = Number(fields[11]) + Number(fields[12]);
  if (family) {
    ticks += Number(fields[13]) + Number(fields[14]);
    for (const child of childrenOf(pid)) {
      const of = stat(child);
      if (of) ticks += Number(of[11]) + Number(of[12]);
    }
  }
  return ticks * TICK_MS;
}

export function rssBytes(pid) {
  return Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * 4096;
}

function childrenOf(pid) {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => stat(name)?.[1] === String(pid));
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
