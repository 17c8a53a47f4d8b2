import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Histogram } from './histogram.mjs';
import { without } from './without.mjs';

const GENERATOR = fileURLToPath(new URL('./generator-process.mjs', import.meta.url));

/**
 * Runs one plan from a generator process (or `generators` of them) and adds what it cost the broker and PostgreSQL, a
 * message.
 * @param load what produces the load; by default the generator over HTTP
 */
export async function measure(broker, { generators = 1, ...plan }, load = generatorOf) {
  const loads = sharesOf(plan, generators).map((share) => load(broker, share));
  await Promise.all(loads.map(({ ready }) => ready));
  const before = await broker.usage();
  const parts = await Promise.all(loads.map((one) => one.go()));
  const after = await broker.usage();
  const result = without(parts.length === 1 ? parts[0] : merged(parts), 'buckets');
  const messages = Math.max(1, result.pushed, result.delivered);
  const per = (name) => (after[name] - before[name]) / messages;
  return {
    ...result,
    brokerCpuMicros: round(per('brokerCpuMs') * 1000),
    postgresCpuMicros: round(per('postgresCpuMs') * 1000),
    transactionsPerMessage: round(per('transactions')),
    walBytesPerMessage: Math.round(per('walBytes')),
    rssMb: after.rssMb,
  };
}

/** @returns the result of generate() from a process of its own */
export async function generateApart(base, plan) {
  const generator = generatorOf({ base }, plan);
  await generator.ready;
  return generator.go();
}

function generatorOf({ base }, plan) {
  return loadFrom([GENERATOR, base, JSON.stringify(plan)]);
}

/** A process that speaks as when-told.mjs says: `ready` when it is warm, and go() gives its result. */
export function loadFrom(args, env = process.env) {
  const child = spawn(process.execPath, args, { env, stdio: ['pipe', 'pipe', 'inherit'] });
  let output = '';
  child.stdin.on('error', () => undefined); // it left first, which its end says as well
  const result = new Promise((resolve, reject) => {
    child.once('close', (code) => {
      if (code === 0) resolve(JSON.parse(output.slice(output.indexOf('\n') + 1)));
      else reject(new Error(`${args[0]} left with ${code}`));
    });
  });
  const ready = new Promise((resolve, reject) => {
    child.stdout.on('data', (bytes) => {
      output += bytes;
      if (output.includes('\n')) resolve();
    });
    result.catch(reject);
  });
  ready.catch(() => undefined);
  return {
    ready,
    go() {
      child.stdin.write('go\n');
      return result;
    },
  };
}

/** Each generator has a queue, connections and a share of the partitions of its own, so that each checks what it sent. */
function sharesOf(plan, generators) {
  if (generators === 1) return [plan];
  const share = (count) => (count === 0 ? 0 : Math.max(1, Math.round(count / generators)));
  return Array.from({ length: generators }, (_, i) => ({
    ...plan,
    queue: `${plan.queue}-${i}`,
    partitions: share(plan.partitions),
    producers: share(plan.producers),
    consumers: share(plan.consumers),
    ...(plan.ratePerSecond && { ratePerSecond: plan.ratePerSecond / generators }),
    ...(plan.messages && { messages: share(plan.messages) }),
  }));
}

function merged(parts) {
  const result = { ...parts[0] };
  for (const key of Object.keys(result)) {
    if (typeof result[key] === 'number') result[key] = parts.reduce((sum, part) => sum + part[key], 0);
  }
  for (const [key, name] of [
    ['pushMs', 'push'],
    ['popMs', 'pop'],
    ['endToEndMs', 'endToEnd'],
  ]) {
    const all = new Histogram();
    for (const part of parts) all.add(Histogram.from(part.buckets[name]));
    result[key] = all.summary();
  }
  return result;
}

const round = (value) => Math.round(value * 100) / 100;
