import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

const LONG_MS = 300_000;

/** A broker process that is started again whenever it ends, until stop(). */
export class Broker extends EventEmitter {
  /**
   * @param {string} name
   * @param {Record<string, string>} settings
   * @param {import('./proxy.mjs').Proxy} proxy what clients talk to
   * @param {import('./history.mjs').History} history
   * @param {string} logFile
   */
  constructor(name, settings, proxy, history, logFile) {
    super();
    this.name = name;
    this.settings = settings;
    this.proxy = proxy;
    this.history = history;
    this.log = createWriteStream(logFile, { flags: 'a' });
    this.child = null;
    this.port = null;
    this.ending = null;
    this.isStopping = false;
    this.downMs = 0;
    this.life = this.live();
  }

  async live() {
    while (!this.isStopping) {
      await this.run();
      await pause(this.isStopping ? 0 : this.downMs || 300);
      this.downMs = 0;
    }
  }

  /** From start to end of one process. */
  async run() {
    const child = spawn(process.execPath, [MAIN], {
      env: { PATH: process.env.PATH, HOME: process.env.HOME, ...this.settings },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child = child;
    this.ending = null;
    let words = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (bytes) => {
        this.log.write(bytes);
        words = (words + bytes).slice(-4000);
        const port = this.port === null && /listening on 127\.0\.0\.1:(\d+)/.exec(words)?.[1];
        if (!port) return;
        this.port = Number(port);
        this.proxy.target = this.port;
        this.history.note('broker', { broker: this.name, what: 'listens', pid: child.pid });
        this.emit('listens');
      });
    }
    const [code, signal] = await new Promise((resolve) => child.once('exit', (...how) => resolve(how)));
    // Whoever cannot reach the database at its start gives up; whoever has listened ends only when told to.
    const what = this.ending ?? (this.port === null ? 'gave up its start' : 'ended by itself');
    this.port = null;
    const said = what === 'ended by itself' ? { said: words.slice(-1500) } : {};
    this.history.note('broker', { broker: this.name, what, code, signal, ...said });
  }

  /** `downMs`: how long it stays away after it has ended. */
  end(signal, downMs) {
    this.ending ??= signal;
    this.downMs = downMs;
    this.child.kill(signal);
  }

  /** After its end: a next process has begun to listen. Rejects when that takes longer than any machine needs. */
  async untilItListens() {
    if (this.port !== null && this.ending === null) return;
    await once(this, 'listens', { signal: AbortSignal.timeout(LONG_MS) });
  }

  /** Its answer to GET `path` as JSON, past the proxy; null while it gives none. */
  async ask(path) {
    if (this.port === null) return null;
    try {
      const answer = await fetch(`http://127.0.0.1:${this.port}${path}`, {
        signal: AbortSignal.timeout(5000),
      });
      return answer.ok ? await answer.json() : null;
    } catch {
      return null;
    }
  }

  async stop() {
    this.isStopping = true;
    this.end('SIGTERM', 0);
    this.child.kill('SIGCONT');
    const killer = setTimeout(() => this.child.kill('SIGKILL'), 40_000);
    await this.life;
    clearTimeout(killer);
    this.log.end();
  }
}
