import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { replay } from './replay.mjs';

/* npm run example: the replay against QUEEN_SERVER_URL, or against a broker of its own with an embedded PostgreSQL. */
const given = process.env.QUEEN_SERVER_URL;
const own = given ? null : await startBroker();
try {
  const report = await replay(given ?? own.base, (line) => console.log(line));
  const clean =
    report.orderViolations + report.byteMismatches + report.missing + report.deadLetters === 0 &&
    report.secondPush.duplicate === report.messages;
  process.exitCode = clean ? 0 : 1;
} finally {
  await own?.stop();
}

async function startBroker() {
  const dataDir = mkdtempSync(join(tmpdir(), 'queen-example-'));
  const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
  const child = spawn(process.execPath, [main], {
    env: {
      ...process.env,
      PORT: '0',
      QUEEN_BIND_ADDR: '127.0.0.1',
      QUEEN_DATA_DIR: dataDir,
      DATABASE_URL: '',
      PG_HOST: '',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  const base = await new Promise((resolve, reject) => {
    let output = '';
    child.stdout.on('data', (bytes) => {
      output += bytes;
      const port = /listening on 127\.0\.0\.1:(\d+)/.exec(output)?.[1];
      if (port) resolve(`http://127.0.0.1:${port}`);
    });
    void exited.then((code) => reject(new Error(`the broker left with ${code}:\n${output}`)));
  });
  return {
    base,
    async stop() {
      child.kill('SIGTERM');
      await exited;
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
