import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Broker } from './broker.mjs';
import { CLOCK_LIBRARY } from './faults/tools.mjs';
import { History } from './history.mjs';
import { Postgres } from './postgres.mjs';
import { Proxy } from './proxy.mjs';
import { random } from './random.mjs';

const WORKER = fileURLToPath(new URL('workload/worker.mjs', import.meta.url));
const PRODUCERS = 2;
const CONSUMERS = 3;

/** Everything that runs: PostgreSQL, two brokers, a proxy on each wire, the processes of the workload. */
export class World {
  static async start(seed) {
    const directory = mkdtempSync(join(tmpdir(), 'queen-nest-chaos-'));
    chmodSync(directory, 0o755); // as root the server is another user, who must be able to enter
    const world = new World(directory, seed);
    await world.begin();
    return world;
  }

  constructor(directory, seed) {
    this.directory = directory;
    this.seed = seed;
    this.historyDirectory = join(directory, 'history');
    mkdirSync(this.historyDirectory);
    this.history = new History(this.historyDirectory, 'run');
    /** Each with `broker`, the wires `front` (clients to broker) and `back` (broker to PostgreSQL). */
    this.sides = [];
    this.workers = [];
    this.draining = false;
  }

  async begin() {
    this.postgres = await Postgres.start(join(this.directory, 'postgres'));
    const dice = random(`${this.seed} brokers`);
    for (const name of ['a', 'b']) {
      const back = await Proxy.start(this.postgres.port);
      const front = await Proxy.start(0);
      const clockFile = join(this.directory, `clock-${name}`);
      writeFileSync(clockFile, '+0\n');
      const settings = this.settings(name, back.port, clockFile, dice);
      const logFile = join(this.directory, `broker-${name}.log`);
      const broker = new Broker(name, settings, front, this.history, logFile);
      this.sides.push({ name, broker, front, back, clockFile });
      this.history.note('settings', { broker: name, choices: choicesOf(settings) });
    }
    await this.untilReady();
  }

  /** Short periods, so that a minute holds many of them; and half of the accelerators off, chosen by the seed. */
  settings(name, port, clockFile, dice) {
    const url = new URL(this.postgres.url);
    url.port = String(port);
    const some = (setting) => (dice.chance(0.25) ? { [setting]: 'false' } : {});
    return {
      PORT: '0',
      QUEEN_BIND_ADDR: '127.0.0.1',
      DATABASE_URL: url.href,
      QUEEN_DATA_DIR: join(this.directory, `data-${name}`),
      FILE_BUFFER_DIR: join(this.directory, `spool-${name}`),
      FILE_BUFFER_EVENTS_PER_FILE: '50',
      DB_POOL_SIZE: '16',
      QUEEN_POOL_RESERVE: '4',
      DB_POOL_WAIT_MS: '3000',
      QUEEN_STMT_TIMEOUT_MS: '2000',
      QUEEN_HOTLIST_RESEED_MS: '2000',
      QUEEN_HOTLIST_RESEED_FULL_MS: '10000',
      QUEEN_CACHE_REFRESH_INTERVAL_MS: '2000',
      RETENTION_INTERVAL: '700',
      STATS_INTERVAL_MS: '2000',
      METRICS_FLUSH_MS: '3000',
      QUEEN_SHUTDOWN_GRACE_MS: '5000',
      LOG_LEVEL: 'info',
      ...some('QUEEN_HOTLIST'),
      ...some('QUEEN_DEDUP_CACHE'),
      ...some('QUEEN_ACK_REGISTRY'),
      ...some('QUEEN_ACK_FUSION'),
      ...some('QUEEN_PG_NAMED_STATEMENTS'),
      ...(dice.chance(0.25) ? { QUEEN_HINT_BUS: 'off' } : {}),
      ...(CLOCK_LIBRARY
        ? {
            LD_PRELOAD: CLOCK_LIBRARY,
            FAKETIME_TIMESTAMP_FILE: clockFile,
            FAKETIME_CACHE_DURATION: '1',
            FAKETIME_DONT_FAKE_MONOTONIC: '1',
          }
        : {}),
    };
  }

  get targets() {
    return this.sides.map(({ front }) => `http://127.0.0.1:${front.port}`);
  }

  startWorkers() {
    for (let n = 0; n < PRODUCERS; n++) this.workers.push(this.worker(`producer${n}`, 'produce'));
    for (let n = 0; n < CONSUMERS; n++) this.workers.push(this.worker(`consumer${n}`, 'consume'));
  }

  /** A process that can be killed; replace() starts another in its place. */
  worker(name, role) {
    const worker = { name, role, life: 0 };
    this.bear(worker);
    return worker;
  }

  bear(worker) {
    const { name, role, life } = worker;
    const settings = {
      name: `${name}-${life}`,
      role,
      seed: this.seed,
      targets: this.targets,
      directory: this.historyDirectory,
      draining: this.draining,
    };
    const child = spawn(process.execPath, [WORKER, JSON.stringify(settings)], {
      stdio: ['pipe', 'inherit', 'inherit'],
    });
    child.stdin.on('error', () => undefined); // it was killed
    worker.child = child;
    worker.isKilled = false;
    worker.exited = new Promise((resolve) =>
      child.once('exit', (code, signal) => {
        if (code !== 0 && !worker.isKilled)
          this.history.note('worker', { worker: name, what: 'ended by itself', code, signal });
        resolve();
      }),
    );
  }

  async replace(worker) {
    worker.isKilled = true;
    worker.child.kill('SIGKILL');
    await worker.exited;
    worker.life += 1;
    this.bear(worker);
  }

  tell(role, word) {
    for (const worker of this.workers) if (worker.role === role) worker.child.stdin.write(`${word}\n`);
  }

  async untilGone(role) {
    await Promise.all(this.workers.filter((worker) => worker.role === role).map(({ exited }) => exited));
  }

  /** Both brokers listen and reach PostgreSQL. */
  async untilReady() {
    for (const { broker } of this.sides)
      await until(
        async () => (await broker.ask('/health/ready')) !== null,
        `broker ${broker.name} to be ready`,
      );
  }

  /** In order, as at the end of a day; a second call finds nobody. */
  async stopBrokers() {
    await Promise.all(this.sides.map(({ broker }) => broker.stop()));
  }

  async stop() {
    for (const worker of this.workers) {
      worker.isKilled = true;
      worker.child.kill('SIGKILL');
    }
    for (const { front, back } of this.sides) {
      front.set('pass');
      back.set('pass');
    }
    await this.stopBrokers();
    await Promise.all(this.sides.flatMap(({ front, back }) => [front.stop(), back.stop()]));
    await this.postgres?.stop();
  }
}

/**
 * Waits for a condition, for as long as a slow machine may need. With `progress`, a text or number that changes as long
 * as something moves, the patience begins anew with every change.
 */
export async function until(condition, what, progress = () => null) {
  const patienceMs = 300_000;
  let seen = null;
  let sinceMs = performance.now();
  while (!(await condition())) {
    const now = String(await progress());
    if (now !== seen) {
      seen = now;
      sinceMs = performance.now();
    }
    if (performance.now() - sinceMs > patienceMs)
      throw new Error(`waited ${patienceMs / 1000} s for ${what}`);
    await pause(200);
  }
}

function choicesOf(settings) {
  return Object.fromEntries(
    Object.entries(settings).filter(([, value]) => value === 'false' || value === 'off'),
  );
}
