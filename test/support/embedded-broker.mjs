/**
 * The part of a broker that starts the embedded PostgreSQL, as a process of its own that a test can kill:
 * `node embedded-broker.mjs <dataDir> <shelterDir> [durable]`. Writes a line of JSON once the server runs or has failed to,
 * stops it on SIGTERM.
 */
import { clearInterval, setInterval } from 'node:timers';
import { startEmbeddedPostgres } from '../../dist/embedded-postgres/embedded-postgres.js';

const [dataDir, shelterDir, durable] = process.argv.slice(2);
const lines = [];
const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);

try {
  const server = await startEmbeddedPostgres({
    dataDir,
    shelterDir,
    fsync: durable === 'durable',
    log: (line) => lines.push(line),
  });
  const { url, port, adopted, pid } = server;
  say({ url, port, adopted, pid, lines });
  const idle = setInterval(() => undefined, 60_000);
  process.once('SIGTERM', () => {
    clearInterval(idle);
    void server.stop();
  });
} catch (error) {
  say({ failed: error.message, lines });
  process.exitCode = 1;
}
