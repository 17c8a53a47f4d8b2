import cluster from 'node:cluster';
import type { FromWorker } from './messages.js';
import type { WorkerProcess } from './worker-process.js';

/**
 * Another process of this program. Connections are given out by the primary in turn (Node's default on Linux): left to
 * the kernel, most of them would land on few workers.
 */
export function forkWorker(): WorkerProcess {
  cluster.schedulingPolicy = cluster.SCHED_RR;
  // Not as JSON, which knows no Infinity and would turn one into null.
  cluster.setupPrimary({ serialization: 'advanced' });
  const worker = cluster.fork();
  const { process } = worker;
  worker.on('error', () => undefined); // of a message to one that is gone
  return {
    pid: process.pid ?? 0,
    send: (message) => {
      if (worker.isConnected()) worker.send(message, () => undefined);
    },
    kill: (signal) => void process.kill(signal),
    listen: ({ message, exit }) => {
      worker.on('message', (heard: FromWorker) => message(heard));
      worker.once('exit', (code: number | null, signal: string | null) => exit(code, signal));
    },
  };
}
