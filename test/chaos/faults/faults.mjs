import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { CLOCK_LIBRARY, HAS_PRLIMIT } from './tools.mjs';

/*
 * Each fault: how often (`weight`), how long (`lastsMs`, both ends), what it strikes (`strikes`), and `begin`, which
 * gives back how it ends. One target has one fault at a time; a second one for it is left out.
 *   side    a broker with its two wires
 *   worker  a consumer process
 *   database
 */

const OUR_SESSIONS = `application_name like 'queen-nest%'`;

const wire = (which, mode, delayMs = () => 0) => ({
  strikes: 'side',
  begin(world, side, { dial }) {
    side[which].set(mode, delayMs(dial));
    return () => {
      side[which].set('pass');
      // Half of the silences end in a reset: what was held back is lost as well.
      if (mode === 'silence' && dial % 2 === 0) side[which].reset();
    };
  },
});

const stopped = (process) => ({
  begin(world, target) {
    process(target).kill('SIGSTOP');
    const child = process(target);
    return () => child.kill('SIGCONT');
  },
});

/** Over when it listens again: a slow machine would otherwise do nothing but start brokers. */
const ended = (signal) => ({
  strikes: 'side',
  async begin(world, { broker }, { lastsMs }) {
    broker.end(signal, lastsMs);
    return () => broker.untilItListens();
  },
});

export const FAULTS = {
  'kill a broker': { weight: 3, lastsMs: [100, 3000], ...ended('SIGKILL') },
  'end a broker': { weight: 1, lastsMs: [100, 1000], ...ended('SIGTERM') },
  'stop a broker': {
    ...{ weight: 3, lastsMs: [300, 6000], strikes: 'side' },
    ...stopped(({ broker }) => broker.child),
  },
  'kill a consumer': {
    ...{ weight: 4, lastsMs: [0, 0], strikes: 'worker' },
    begin(world, worker) {
      const replaced = world.replace(worker);
      return () => replaced;
    },
  },
  'stop a consumer': {
    ...{ weight: 4, lastsMs: [300, 7000], strikes: 'worker' },
    ...stopped(({ child }) => child),
  },
  'cut clients off': { weight: 2, lastsMs: [100, 3000], ...wire('front', 'cut') },
  'silence clients': { weight: 2, lastsMs: [300, 8000], ...wire('front', 'silence') },
  'lose answers to clients': { weight: 4, lastsMs: [100, 1500], ...wire('front', 'lose') },
  'delay clients': { weight: 2, lastsMs: [500, 5000], ...wire('front', 'delay', (dial) => 10 + dial / 2) },
  'cut the database off': { weight: 3, lastsMs: [100, 6000], ...wire('back', 'cut') },
  'silence the database': { weight: 3, lastsMs: [300, 8000], ...wire('back', 'silence') },
  'lose answers of the database': { weight: 5, lastsMs: [50, 1000], ...wire('back', 'lose') },
  'delay the database': { weight: 2, lastsMs: [500, 5000], ...wire('back', 'delay', (dial) => 5 + dial / 4) },
  'terminate backends': {
    ...{ weight: 4, lastsMs: [0, 0], strikes: 'database' },
    async begin({ postgres }, _, { dial }) {
      const some = dial % 3 === 0 ? '' : 'and random() < 0.4';
      await postgres.session((client) =>
        client.query(`select pg_terminate_backend(pid) from pg_stat_activity where ${OUR_SESSIONS} ${some}`),
      );
      return () => undefined;
    },
  },
  'restart PostgreSQL at once': {
    ...{ weight: 2, lastsMs: [0, 0], strikes: 'database' },
    async begin({ postgres }) {
      await postgres.restartAtOnce();
      return () => undefined;
    },
  },
  'block a table': {
    ...{ weight: 2, lastsMs: [500, 4500], strikes: 'database' },
    async begin({ postgres }, _, { dial }) {
      const table = ['log_partitions', 'log_consumers', 'log_segments', 'log_txns'][dial % 4];
      let release;
      const over = new Promise((resolve) => (release = resolve));
      let locked;
      const ready = new Promise((resolve) => (locked = resolve));
      const blocking = postgres.session(async (client) => {
        await client.query(`set lock_timeout = '3s'; begin`);
        await client.query(`lock table queen.${table} in access exclusive mode`);
        locked();
        await over;
        await client.query('rollback');
      });
      // A lock that is not to be had within its time is no fault of anybody.
      const done = blocking.catch(() => locked());
      await ready;
      return async () => {
        release();
        await done;
      };
    },
  },
  'database takes no writes': {
    ...{ weight: 2, lastsMs: [500, 4000], strikes: 'database' },
    async begin({ postgres }) {
      const name = new URL(postgres.url).pathname.slice(1);
      const set = (value) =>
        postgres.session((client) =>
          client.query(
            `alter database ${name} ${value};
             select pg_terminate_backend(pid) from pg_stat_activity where ${OUR_SESSIONS} and '${value}' like 'set%'`,
          ),
        );
      await set('set default_transaction_read_only = on');
      return () =>
        postgres.session(async (client) => {
          await client.query('set default_transaction_read_only = off');
          await client.query(`alter database ${name} reset default_transaction_read_only`);
        });
    },
  },
  // Files may not grow beyond a few hundred bytes, and the spool is needed: writes break off in their middle, as they do
  // on a full disk. A limit of the process, so that it needs neither root nor a file system of its own.
  ...(HAS_PRLIMIT
    ? {
        'disk full': {
          ...{ weight: 2, lastsMs: [1000, 5000], strikes: 'side' },
          begin(world, { broker, back }, { dial }) {
            const { pid } = broker.child;
            const limit = (bytes) => execFileSync('prlimit', ['--pid', pid, `--fsize=${bytes}:unlimited`]);
            limit(200 + dial);
            back.set('cut');
            return () => {
              back.set('pass');
              if (broker.child.pid === pid && broker.port !== null) limit('unlimited');
            };
          },
        },
      }
    : {}),
  ...(CLOCK_LIBRARY
    ? {
        'step a clock': {
          ...{ weight: 3, lastsMs: [1000, 6000], strikes: 'side' },
          begin(world, { clockFile }, { dial }) {
            const seconds = [-3600, -30, -2, 2, 30, 3600, 90_000][dial % 7];
            writeFileSync(clockFile, `${seconds < 0 ? '' : '+'}${seconds}\n`);
            return () => writeFileSync(clockFile, '+0\n');
          },
        },
      }
    : {}),
};

/** Messages stored or finished before the next fault strikes, or this long without: then nothing works anyhow. */
const WORK_BETWEEN = 15;
const PATIENCE_MS = 15_000;

/**
 * Carries out a schedule; resolves when all that began has ended. On a slow machine the schedule waits for the workload:
 * a broker that never gets to work between two faults shows nothing. What does not fit into the time is left out.
 */
export class Faults {
  /** @param {() => number} progress messages stored and finished so far */
  constructor(world, progress) {
    this.world = world;
    this.progress = progress;
    this.busy = new Set();
    /** How many of each kind took place. */
    this.counts = {};
  }

  async run(planned, totalMs) {
    const endMs = performance.now() + totalMs;
    const running = [];
    let before = 0;
    for (const { atMs, ...fault } of planned) {
      const worked = this.progress();
      await sleepUntil(performance.now() + atMs - before);
      before = atMs;
      const patientUntilMs = Math.min(endMs, performance.now() + PATIENCE_MS);
      while (this.progress() < worked + WORK_BETWEEN && performance.now() < patientUntilMs)
        await sleepUntil(performance.now() + 100);
      if (performance.now() >= endMs) break;
      running.push(this.strike(fault));
    }
    await Promise.all(running);
  }

  async strike(fault) {
    const { world } = this;
    const { strikes, begin } = FAULTS[fault.kind];
    const target = this.targetOf(strikes, fault.at);
    if (this.busy.has(target)) return;
    this.busy.add(target);
    const op = world.history.start('fault', { kind: fault.kind, target: target.name ?? 'database' });
    try {
      const end = await begin(world, target, fault);
      await sleepUntil(performance.now() + fault.lastsMs);
      await end();
      this.counts[fault.kind] = (this.counts[fault.kind] ?? 0) + 1;
      world.history.end(op, 'ok');
    } catch (error) {
      // The database was away for another reason, the process was just gone: nothing that the broker has to answer for.
      world.history.end(op, 'unknown', { error: error.message });
    } finally {
      this.busy.delete(target);
    }
  }

  targetOf(strikes, at) {
    const { sides, workers, postgres } = this.world;
    const consumers = workers.filter(({ role }) => role === 'consume');
    const choices = { side: sides, worker: consumers, database: [postgres] }[strikes];
    return choices[at % choices.length];
  }
}

function sleepUntil(dueMs) {
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, dueMs - performance.now())));
}
