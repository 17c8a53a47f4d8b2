import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { waitFor } from './wait-for.js';

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** The broker as its users run it: `node dist/main.js`, with settings from its environment. */
export class BrokerProcess {
  private output = '';
  readonly exit: Promise<Exit>;
  private exited: Exit | null = null;

  private constructor(private readonly child: ChildProcess) {
    child.stdout?.on('data', (bytes: Buffer) => (this.output += bytes.toString()));
    child.stderr?.on('data', (bytes: Buffer) => (this.output += bytes.toString()));
    this.exit = once(child, 'exit').then(([code, signal]) => (this.exited = { code, signal } as Exit));
  }

  /**
   * Started, not yet listening.
   * @param files that it may have open at once (`ulimit -n`); null: as many as this process
   */
  static spawn(settings: Record<string, string | number>, files: number | null = null): BrokerProcess {
    const variables = Object.entries(settings).map(([name, value]) => [name, String(value)]);
    const env = {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      PORT: '0',
      QUEEN_BIND_ADDR: '127.0.0.1',
      DB_POOL_SIZE: '12',
      QUEEN_POOL_RESERVE: '4',
      ...Object.fromEntries(variables),
    };
    const [command, ...args] =
      files === null
        ? [process.execPath, 'dist/main.js']
        : ['sh', '-c', `ulimit -n ${files} && exec "$0" dist/main.js`, process.execPath];
    return new BrokerProcess(spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] }));
  }

  static async start(
    settings: Record<string, string | number>,
    files: number | null = null,
  ): Promise<BrokerProcess & { port: number }> {
    const broker = BrokerProcess.spawn(settings, files);
    try {
      const port = Number((await broker.said(/listening on [^ ]*:(\d+)/))[1]);
      return Object.assign(broker, { port });
    } catch (error) {
      await broker.end(); // nobody has it to end it
      throw error;
    }
  }

  /** Waits for it to write something. */
  async said(what: RegExp, within = 120_000): Promise<RegExpExecArray> {
    const found = () => {
      const match = what.exec(this.output);
      if (!match && this.exited) throw new Error(`the broker has exited:\n${this.output}`);
      return match;
    };
    return waitFor(found, { within, what: `the broker to write ${String(what)}` });
  }

  get lines(): string {
    return this.output;
  }

  get isRunning(): boolean {
    return this.exited === null;
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** For afterEach: a test that failed must not leave it behind. */
  async end(): Promise<void> {
    if (this.isRunning) this.child.kill('SIGKILL');
    await this.exit;
  }
}
