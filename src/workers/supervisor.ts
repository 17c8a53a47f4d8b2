import type { CancelTimer, Clock } from '../base/clock/clock.js';
import type { Assignment, FromWorker } from './messages.js';
import { restartDelayMs, STEADY_MS } from './restart-delay.js';
import type { WorkerProcess } from './worker-process.js';

export interface SupervisorOptions {
  readonly workers: number;
  /** Of the configuration. 0: the port that the first worker gets becomes everybody's. */
  readonly port: number;
  readonly clock: Clock;
  fork(): WorkerProcess;
  assignment(number: number): Assignment;
  /** Resolves when nobody but the workers holds the port any longer. */
  freePort(): Promise<void>;
  /** What a worker says that is not about its own life. */
  heard(worker: WorkerProcess, message: FromWorker): void;
  left(worker: WorkerProcess): void;
  readonly log: { log(line: string): void; warn(line: string): void };
}

/** A place that is always filled by some worker. */
interface Place {
  readonly number: number;
  worker: WorkerProcess | null;
  isReady: boolean;
  forkedAtMs: number;
  /** Why the worker says it cannot start. */
  reason: string | null;
  /** Workers in a row that ended soon. */
  earlyEnds: number;
  /** Of the first worker in this place. */
  firstStart: 'pending' | 'good' | 'failed';
  cancelRestart: CancelTimer | null;
}

/**
 * Keeps a number of workers alive. One that ends is replaced, later and later when it ends soon again and again. Those that
 * serve are never touched by what happens to another. Gives up only at the start, when no worker could start at all:
 * later on, a cause like a database that is away passes by itself.
 */
export class Supervisor {
  private readonly places: readonly Place[];
  /** The one that workers share, once known. */
  private port: number | null = null;
  private listenPort: number;
  private isDraining = false;
  private isClean = true;
  private started: { resolve(port: number | null): void; reject(error: Error): void } | null = null;
  private drained: (() => void) | null = null;

  constructor(private readonly options: SupervisorOptions) {
    this.listenPort = options.port;
    this.places = Array.from({ length: options.workers }, (_, number) => ({
      ...{ number, worker: null, isReady: false, forkedAtMs: 0, reason: null },
      ...{ earlyEnds: 0, firstStart: 'pending' as const, cancelRestart: null },
    }));
  }

  /** Workers that serve. */
  get ready(): WorkerProcess[] {
    return this.places.flatMap(({ worker, isReady }) => (worker && isReady ? [worker] : []));
  }

  /**
   * Resolves with the port when every place has had its first start and somebody serves; with null when it was drained
   * before. Rejects with the reason of the last one when none could start.
   */
  start(): Promise<number | null> {
    return new Promise((resolve, reject) => {
      if (this.isDraining) return resolve(null);
      this.started = { resolve, reject };
      for (const place of this.places) this.fork(place);
    });
  }

  /** Tells all to finish what they do and leave. Resolves when they have, with false when one of them failed to. */
  drain(reason: string): Promise<boolean> {
    this.isDraining = true;
    this.started?.resolve(null);
    return new Promise((resolve) => {
      this.drained = () => resolve(this.isClean);
      for (const place of this.places) {
        place.cancelRestart?.();
        place.worker?.send({ kind: 'drain', reason });
      }
      this.lookForEnd();
    });
  }

  /** No more patience: ends them at once. */
  kill(): void {
    this.isDraining = true;
    for (const { worker } of this.places) worker?.kill('SIGKILL');
  }

  private fork(place: Place): void {
    const worker = this.options.fork();
    Object.assign(place, {
      ...{ worker, isReady: false, reason: null, cancelRestart: null },
      forkedAtMs: this.options.clock.monoMs(),
    });
    worker.listen({
      message: (message) => this.hear(place, worker, message),
      exit: (code, signal) => this.replace(place, worker, code, signal),
    });
  }

  private hear(place: Place, worker: WorkerProcess, message: FromWorker): void {
    if (message.kind === 'failed') place.reason = message.reason;
    else if (message.kind === 'ready') this.welcome(place, worker, message.port);
    else if (message.kind === 'hello' || message.kind === 'prepared') {
      // It was not there yet when the others were told.
      if (this.isDraining) worker.send({ kind: 'drain', reason: 'stopping' });
      else if (message.kind === 'prepared') void this.letListen(worker);
      else worker.send({ kind: 'assignment', ...this.options.assignment(place.number) });
    } else this.options.heard(worker, message);
  }

  private async letListen(worker: WorkerProcess): Promise<void> {
    await this.options.freePort();
    // A port that was left to the system is gone with the last worker that had it, and has to be asked for by number.
    if (this.port !== null && this.ready.length === 0) this.listenPort = this.port;
    worker.send({ kind: 'listen', port: this.listenPort });
  }

  private welcome(place: Place, worker: WorkerProcess, port: number): void {
    this.port ??= port;
    const who = `worker ${place.number} (process ${worker.pid})`;
    if (port !== this.port) {
      this.options.log.warn(`${who} got port ${port} instead of ${this.port} and leaves`);
      worker.send({ kind: 'drain', reason: 'another port' });
      return;
    }
    place.isReady = true;
    if (place.firstStart === 'pending') place.firstStart = 'good';
    this.options.log.log(`${who} is ready`);
    this.settleStart('');
  }

  private replace(place: Place, worker: WorkerProcess, code: number | null, signal: string | null): void {
    const { clock, log } = this.options;
    const wasSteady = place.isReady && clock.monoMs() - place.forkedAtMs >= STEADY_MS;
    const reason = place.reason ?? (signal ? `it was ended by ${signal}` : `it ended with code ${code}`);
    place.worker = null;
    place.isReady = false;
    this.options.left(worker);
    if (this.isDraining) {
      if (code !== 0) this.isClean = false;
      return this.lookForEnd();
    }
    if (place.firstStart === 'pending') place.firstStart = 'failed';
    this.settleStart(reason);
    if (this.isDraining) return;
    place.earlyEnds = wasSteady ? 0 : place.earlyEnds + 1;
    const delayMs = restartDelayMs(place.earlyEnds);
    const when = delayMs === 0 ? 'now' : `in ${delayMs} ms`;
    log.warn(
      `worker ${place.number} (process ${worker.pid}) is gone, the next one starts ${when}: ${reason}`,
    );
    place.cancelRestart = clock.after(delayMs, () => this.fork(place));
  }

  private settleStart(lastReason: string): void {
    if (!this.started || this.places.some(({ firstStart }) => firstStart === 'pending')) return;
    if (this.ready.length > 0) this.started.resolve(this.port);
    else if (this.places.every(({ firstStart }) => firstStart === 'failed')) {
      this.isDraining = true;
      for (const { cancelRestart, worker } of this.places) {
        cancelRestart?.();
        worker?.kill('SIGKILL'); // a second try of a place whose first one failed
      }
      this.started.reject(new Error(lastReason));
    } else return; // one served and is gone again: its place is filled soon
    this.started = null;
  }

  private lookForEnd(): void {
    if (this.places.every(({ worker }) => worker === null)) this.drained?.();
  }
}
