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

  /** Started, not yet listening. */
  static spawn(settings: Record<string, string | number>): BrokerProcess {
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
    return new BrokerProcess(
      spawn(process.execPath, ['dist/main.js'], { env, stdio: ['ignore', 'pipe', 'pipe'] }),
    );
  }

  static async start(settings: Record<string, string | number>): Promise<BrokerProcess & { port: number }> {
    const broker = BrokerProcess.spawn(settings);
    const port = Number((await broker.said(/listening on [^ ]*:(\d+)/))[1]);
    return Object.assign(broker, { port });
  }

  /** Waits for it to write something. */
  async said(what: RegExp, within = 30_000): Promise<RegExpExecArray> {
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
