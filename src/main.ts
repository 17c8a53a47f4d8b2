import 'reflect-metadata';
import cluster from 'node:cluster';
import { loadEnvironment } from './base/config/environment.js';
import { runAlone } from './boot/run-alone.js';
import { runPrimary } from './boot/run-primary.js';
import { runWorker } from './boot/run-worker.js';

async function main(): Promise<void> {
  const environment = loadEnvironment();
  if (cluster.isWorker) return runWorker(environment);
  return environment.QUEEN_WORKERS > 1 ? runPrimary(environment) : runAlone(environment);
}

main().catch((error: Error) => {
  // Errors of configuration, embedded server and schema are whole sentences; a stack would bury them.
  process.stderr.write(`queen-nest cannot start: ${error.message}\n`);
  process.exit(1);
});
