import { chmodSync } from 'node:fs';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../dist/embedded-postgres/embedded-postgres.js';

/**
 * A PostgreSQL of the run's own. Commits are as durable against its own crash as they are in production: only the
 * sync to the disk is left out, which matters when a machine loses its power and not when a process is killed.
 */
export class Postgres {
  static async start(dataDir) {
    const postgres = new Postgres(dataDir);
    await postgres.start();
    return postgres;
  }

  constructor(dataDir) {
    this.dataDir = dataDir;
    this.server = null;
  }

  async start() {
    this.server = await startEmbeddedPostgres({
      dataDir: this.dataDir,
      log: () => undefined,
      extraSettings: { fsync: 'off', max_connections: '120' },
    });
    chmodSync(this.dataDir, 0o755);
  }

  get url() {
    return this.server.url;
  }

  get port() {
    return this.server.port;
  }

  /** As after a crash: nobody is waited for, no checkpoint; the start replays the journal. */
  async restartAtOnce() {
    const { url } = this;
    process.kill(this.server.pid, 'SIGQUIT');
    await this.server.stop();
    await this.start();
    if (this.url !== url) throw new Error('PostgreSQL came back under another address');
  }

  /** A session past the proxies, for as long as `use` takes. */
  async session(use) {
    const client = new pg.Client({ connectionString: this.url, application_name: 'chaos' });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return await use(client);
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  async stop() {
    await this.server?.stop();
  }
}
