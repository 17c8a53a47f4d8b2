import { SystemClock, type CancelTimer, type Clock } from '../base/clock/clock.js';

const LOOK_MS = 500;
const RESTART_MS_MIN = 500;
const RESTART_MS_MAX = 8000;
/** Failed or short lives in a row. With the pauses between them this takes half a minute. */
const ATTEMPTS_MAX = 6;
/** A server that lived so long ended for a new reason. */
const LONG_LIFE_MS = 60_000;

export interface Supervised<Identity> {
  isAlive(server: Identity): boolean;
  /** Starts it anew; resolves when it accepts connections. */
  start(): Promise<Identity>;
  log: (line: string) => void;
  onGivenUp: (reason: string) => void;
}

/**
 * Looks after a server that runs: one that ends by itself (killed by hand, out of memory, a full disk) is started again,
 * with growing pauses, and given up when it does not stay. It is looked at rather than listened to, because a server
 * that was taken over is nobody's child.
 */
export class Supervisor<Identity> {
  private isEnding = false;
  private attempts = 0;
  private startedAtMs: number;
  private cancel: CancelTimer = () => undefined;
  private restarting: Promise<void> | null = null;

  constructor(
    private server: Identity,
    private readonly supervised: Supervised<Identity>,
    private readonly clock: Clock = new SystemClock(),
  ) {
    this.startedAtMs = clock.monoMs();
  }

  /** The server that runs, or ran last. */
  get current(): Identity {
    return this.server;
  }

  begin(): void {
    this.lookLater();
  }

  /** From now on its end is meant; returns the one to stop. */
  async end(): Promise<Identity> {
    this.isEnding = true;
    this.cancel();
    await this.restarting;
    return this.server;
  }

  private lookLater(): void {
    this.cancel = this.clock.after(LOOK_MS, () => this.look());
  }

  private look(): void {
    if (this.supervised.isAlive(this.server)) return this.lookLater();
    if (this.clock.monoMs() - this.startedAtMs > LONG_LIFE_MS) this.attempts = 0;
    this.again('PostgreSQL ended by itself');
  }

  private again(why: string): void {
    if (this.isEnding) return;
    if (this.attempts >= ATTEMPTS_MAX) {
      this.supervised.onGivenUp(`${why}, and ${ATTEMPTS_MAX} attempts to start it again were in vain`);
      return;
    }
    const pauseMs = Math.min(RESTART_MS_MIN * 2 ** this.attempts, RESTART_MS_MAX);
    this.attempts += 1;
    this.supervised.log(`${why}: starting it again in ${pauseMs} ms`);
    this.cancel = this.clock.after(pauseMs, () => {
      this.restarting = this.restart().finally(() => (this.restarting = null));
    });
  }

  private async restart(): Promise<void> {
    try {
      this.server = await this.supervised.start();
    } catch (error) {
      return this.again((error as Error).message);
    }
    this.startedAtMs = this.clock.monoMs();
    this.supervised.log('PostgreSQL runs again');
    if (!this.isEnding) this.lookLater();
  }
}
