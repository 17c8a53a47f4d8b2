import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Histogram } from './histogram.mjs';
import { Wire } from './wire.mjs';

const ROUNDS = 500;
const BYTES = 8192;

/**
 * What this machine takes for the parts that every answer is made of, in milliseconds: nothing can be faster than their
 * sum. One after the other, as a lone client would meet them.
 */
export async function machineFloor(broker) {
  return {
    httpRoundTripMs: await roundTrips(broker.base),
    selectOneMs: await statements(broker.sql),
    fsyncMs: syncs(),
  };
}

/** The cheapest route the broker has. */
async function roundTrips(base) {
  const wire = new Wire(base);
  const times = new Histogram();
  for (let n = 0; n < 2 * ROUNDS; n++) {
    const startedMs = performance.now();
    await wire.send('GET', '/live');
    if (n >= ROUNDS) times.record((performance.now() - startedMs) * 1000);
  }
  wire.close();
  return times.summary();
}

async function statements(sql) {
  const times = new Histogram();
  for (let n = 0; n < 2 * ROUNDS; n++) {
    const startedMs = performance.now();
    await sql.query('select 1');
    if (n >= ROUNDS) times.record((performance.now() - startedMs) * 1000);
  }
  return times.summary();
}

/** A block written and synced, as a commit does with its piece of WAL; on the disk of the temporary files, where the database is. */
function syncs() {
  const folder = mkdtempSync(join(tmpdir(), 'bench-fsync-'));
  const file = openSync(join(folder, 'block'), 'w');
  const block = Buffer.alloc(BYTES, 1);
  const times = new Histogram();
  for (let n = 0; n < ROUNDS; n++) {
    const startedMs = performance.now();
    writeSync(file, block, 0, BYTES, (n % 256) * BYTES);
    fdatasyncSync(file);
    times.record((performance.now() - startedMs) * 1000);
  }
  closeSync(file);
  rmSync(folder, { recursive: true });
  return times.summary();
}
