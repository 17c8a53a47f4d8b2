import type { FromWorker, ToWorker } from './messages.js';

export interface WorkerEvents {
  message(message: FromWorker): void;
  /** Its end; nothing comes after. */
  exit(code: number | null, signal: string | null): void;
}

/** A worker as the primary process holds it. */
export interface WorkerProcess {
  readonly pid: number;
  /** Nothing happens when it is gone already: its exit says so. */
  send(message: ToWorker): void;
  kill(signal: NodeJS.Signals): void;
  /** Once, right after the fork. */
  listen(events: WorkerEvents): void;
}
