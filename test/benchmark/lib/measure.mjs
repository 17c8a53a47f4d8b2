import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const GENERATOR = fileURLToPath(new URL('./generator-process.mjs', import.meta.url));

/** Runs one plan from a generator process and adds what it cost the broker and PostgreSQL, a message. */
export async function measure(broker, plan) {
  const before = await broker.usage();
  const result = await generateApart(broker.base, plan);
  const after = await broker.usage();
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

export function generateApart(base, plan) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [GENERATOR, base, JSON.stringify(plan)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    child.stdout.on('data', (bytes) => (output += bytes));
    child.once('exit', (code) =>
      code === 0 ? resolve(JSON.parse(output)) : reject(new Error(`generator left with ${code}`)),
    );
  });
}

const round = (value) => Math.round(value * 100) / 100;
