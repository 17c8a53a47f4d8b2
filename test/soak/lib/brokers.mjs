import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startEmbeddedPostgres } from '../../../dist/embedded-postgres/embedded-postgres.js';

const MAIN = fileURLToPath(new URL('../../../dist/main.js', import.meta.url));
const WITH_PARENT = fileURLToPath(new URL('../../benchmark/lib/leave-with-parent.mjs', import.meta.url));

/** A PostgreSQL with durable settings in a directory of its own. */
export async function startPostgres() {
  const dataDir = mkdtempSync(join(tmpdir(), 'queen-soak-'));
  chmodSync(dataDir, 0o755); // as root the server is another user, who must be able to enter
  const server = await startEmbeddedPostgres({ dataDir, log: (line) => console.error(line) });
  const stop = async () => {
    await server.stop();
    rmSync(dataDir, { recursive: true, force: true });
  };
  // It would outlive a script that is told to stop.
  for (const signal of ['SIGINT', 'SIGTERM'])
    process.once(signal, () => void stop().then(() => process.exit(1)));
  return { url: server.url, stop };
}

/** A broker on a port that stays the same over its restarts. */
export class Broker {
  constructor(port, settings) {
    this.port = port;
    this.settings = settings;
    this.child = null;
    this.errors = [];
  }

  async start() {
    this.child = spawn(process.execPath, ['--import', WITH_PARENT, MAIN], {
      env: {
        PATH: process.env.PATH,
        HOME: process.env.HOME,
        PORT: String(this.port),
        QUEEN_BIND_ADDR: '127.0.0.1',
        ...this.settings,
      },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.child.stdout.on('data', (bytes) => {
      for (const line of String(bytes).split('\n')) if (/"level":(50|60)/.test(line)) this.errors.push(line);
    });
    const startedMs = performance.now();
    while (!(await this.isReady())) {
      if (this.child.exitCode !== null)
        throw new Error(`the broker on ${this.port} left with ${this.child.exitCode}`);
      if (performance.now() - startedMs > 120_000)
        throw new Error(`the broker on ${this.port} does not become ready`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** SIGTERM; resolves with how it left and how long that took. */
  async drain() {
    const exited = once(this.child, 'exit');
    const toldMs = performance.now();
    this.child.kill('SIGTERM');
    const [code, signal] = await exited;
    return { code, signal, ms: Math.round(performance.now() - toldMs) };
  }

  async isReady() {
    try {
      const answer = await fetch(`http://127.0.0.1:${this.port}/health/ready`, {
        signal: AbortSignal.timeout(1000),
        headers: { connection: 'close' },
      });
      await answer.arrayBuffer();
      return answer.status === 200;
    } catch {
      return false;
    }
  }
}

export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}
