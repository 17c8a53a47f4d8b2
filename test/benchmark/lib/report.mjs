import { execSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import os from 'node:os';

/** What every result begins with: which benchmark, when, on what, of what. */
export function headOf(name) {
  return {
    benchmark: name,
    date: new Date().toISOString().slice(0, 10),
    machine: `${os.cpus().length} cores ${os.cpus()[0].model.trim()}, ${Math.round(os.totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}`,
    loadBefore: os.loadavg()[0],
    commit: commit(),
  };
}

/** Prints and, with --save, keeps a dated result beside the others. */
export function report(name, body) {
  const head = headOf(name);
  const text = JSON.stringify({ ...head, ...body }, null, 2);
  console.log(text);
  if (process.argv.includes('--save')) {
    writeFileSync(new URL(`../results/${head.date}-${name}.json`, import.meta.url), `${text}\n`);
  }
}

function commit() {
  try {
    return execSync('git rev-parse --short HEAD', { encoding: 'utf8' }).trim();
  } catch {
    return 'unknown';
  }
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}
