import { spawn } from 'node:child_process';
import readline from 'node:readline';
import { fileURLToPath } from 'node:url';
import { generateApart, loadFrom, measure } from './lib/measure.mjs';
import { startBroker } from './lib/processes.mjs';
import { Wire } from './lib/wire.mjs';

/*
 * Who takes part in the matrix: the broker, the floor, the SQL loop, and the peers. Each has a name, `run(row, round)` that
 * gives a result or null when the row is not for it, and stop().
 */
const path = (name) => fileURLToPath(new URL(name, import.meta.url));

export const PEERS = ['pg-boss', 'graphile-worker', 'bullmq', 'rabbitmq', 'nats'];

/** @param {{ settings: Record<string, string>, backlog: number }} options of the broker; messages of a long backlog */
export async function openOurs({ settings, backlog }) {
  const broker = await startBroker(settings);
  return new HttpSubject('ours', broker, { backlog, takesAll: true });
}

/** The floor, and the SQL loop on the same database; they never run at the same time. */
export async function openFloor() {
  const broker = await startBroker({}, path('floor/main.mjs'));
  const floor = new HttpSubject('floor', broker, {});
  const loop = new HttpSubject('sql', { ...broker, stop: () => Promise.resolve() }, { load: sqlLoop });
  return [floor, loop];
}

function sqlLoop({ databaseUrl }, plan) {
  return loadFrom([path('floor/sql-loop.mjs'), JSON.stringify(plan)], {
    ...process.env,
    DATABASE_URL: databaseUrl,
  });
}

class HttpSubject {
  backlogQueue = null;

  constructor(name, broker, { backlog = 0, load, takesAll = false }) {
    Object.assign(this, { name, broker, backlog, load, takesAll });
  }

  /** At least 2,000 requests of each kind: an engine that has not compiled its code yet takes twice as long. */
  async warmUp() {
    if (this.load) return; // warms itself up
    const plan = { queue: 'warm-up', seconds: 120, batch: 1, partitions: 100, producers: 16, consumers: 16 };
    const result = await generateApart(this.broker.base, { ...plan, messages: 3000, aheadMax: 500 });
    if (result.delivered < 2000) throw new Error(`${this.name} served only ${result.delivered} to warm up`);
  }

  async run(row, round) {
    if (row.ours && !this.takesAll) return null;
    const { dedup, ...plan } = { ...row.plan, queue: `${row.id}-${this.name}-${round}` };
    if (dedup === false && this.takesAll) await this.configure(plan.queue, { dedupWindowSeconds: 0 });
    if (row.every) await this.makeEveryPartition(plan);
    if (row.fill?.backlog) {
      this.backlogQueue ??= await this.fill(
        { ...plan, queue: 'long-backlog' },
        { messages: this.backlog, seconds: 600 },
      );
      Object.assign(plan, {
        ...this.backlogQueue,
        tag: `r${round}p`,
        group: `r${round}g`,
      });
    } else if (row.fill) Object.assign(plan, await this.fill(plan, row.fill));
    return measure(this.broker, plan, this.load);
  }

  /** @returns what a plan needs to know of it */
  async fill(plan, { messages, seconds }) {
    const filled = await this.generate({
      ...plan,
      batch: Math.max(plan.batch, 10),
      producers: 8,
      consumers: 0,
      ratePerSecond: undefined,
      untilSeconds: false,
      seconds,
      messages,
      tag: 'f',
    });
    if (filled.pushErrors > 0)
      throw new Error(`${this.name}: ${filled.pushErrors} pushes of the backlog failed`);
    return { queue: plan.queue, backlog: filled.pushed };
  }

  /** Each with a message that is read at once, so that the run itself meets no new partition. */
  async makeEveryPartition(plan) {
    const some = { queue: plan.queue, partitions: plan.partitions, batch: 1000, seconds: 60, tag: 'n' };
    const made = { ...some, messages: plan.partitions, spread: true, producers: 1, consumers: 0 };
    const read = { ...some, producers: 0, consumers: 4, popPartitions: 100, autoAck: true };
    const { pushed } = await this.generate(made);
    const { lost, unread } = await this.generate({ ...read, backlog: pushed, drainMs: 60_000 });
    if (lost + unread > 0) throw new Error(`${this.name}: ${lost + unread} first messages were not read`);
  }

  generate(plan) {
    return generateApart(this.broker.base, plan);
  }

  async configure(queue, options) {
    const wire = new Wire(this.broker.base);
    const { status, text } = await wire.send('POST', '/api/v1/configure', JSON.stringify({ queue, options }));
    wire.close();
    if (status >= 300) throw new Error(`configure answered ${status}: ${text}`);
  }

  stop() {
    return this.broker.stop();
  }
}

/** Null, and a line, for a peer that cannot be had. */
export async function openPeer(name) {
  const peer = new PeerSubject(name);
  const { ready, skipped } = await peer.next();
  if (ready) return Object.assign(peer, ready);
  console.error(`${name} is skipped: ${skipped}`);
  await peer.stop();
  return null;
}

class PeerSubject {
  constructor(name) {
    this.name = name;
    this.child = spawn(process.execPath, [path('peers/peer-process.mjs'), name], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.child.stdin.on('error', () => undefined);
    this.exited = new Promise((resolve) => this.child.once('exit', resolve));
    this.lines = readline.createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
  }

  async next() {
    const { value, done } = await this.lines.next();
    if (done) throw new Error(`${this.name} left with ${await this.exited}`);
    return JSON.parse(value);
  }

  async warmUp() {
    const plan = { batch: 1, partitions: 100, producers: 16, consumers: 16, aheadMax: 500 };
    await this.ask({ ...plan, queue: 'warm-up', seconds: 3 });
  }

  async run(row, round) {
    if (row.ours || row.peers === false) return null;
    return this.ask({ ...row.plan, queue: `${row.id}-${round}`, backlog: row.fill });
  }

  async ask(plan) {
    this.child.stdin.write(`${JSON.stringify(plan)}\n`);
    const { result, failed } = await this.next();
    if (failed) throw new Error(`${this.name}: ${failed}`);
    return result;
  }

  async stop() {
    this.child.stdin.end();
    await this.exited;
  }
}
