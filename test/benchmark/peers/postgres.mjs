import { rmSync } from 'node:fs';
import { startEmbeddedPostgres } from '../../../dist/embedded-postgres/embedded-postgres.js';
import { temporaryFolder } from '../lib/foreign-server.mjs';
import { cpuMs } from '../lib/processes.mjs';

/** A PostgreSQL of its own for a peer that lives in one: the same binaries and settings as the broker's. */
export async function startPostgres(name) {
  const folder = temporaryFolder(name);
  const server = await startEmbeddedPostgres({ dataDir: folder, log: () => undefined });
  return {
    url: server.url,
    cpuMs: () => cpuMs(server.pid),
    async stop() {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
