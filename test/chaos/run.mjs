import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { check } from './checker/check.mjs';
import { report } from './checker/report.mjs';
import { settle } from './settle.mjs';
import { schedule } from './faults/schedule.mjs';
import { FAULTS, Faults } from './faults/faults.mjs';
import { LEFT_OUT } from './faults/tools.mjs';
import { finalOf } from './final.mjs';
import { readHistory } from './history.mjs';
import { readOptions } from './options.mjs';
import { tableBreaches } from './tables.mjs';
import { watch } from './watch.mjs';
import { Client } from './workload/client.mjs';
import { PLAN, STUMBLE } from './workload/plan.mjs';
import { World, until } from './world.mjs';

/* npm run chaos -- --minutes 10 --seed 42: see README.md beside this file. */

const options = readOptions(process.argv.slice(2));
const verdict = options.check ? await judge(options.check) : await go(options);
process.exit(verdict ? 0 : 1);

async function go({ minutes, seed, keep }) {
  const leftOut = LEFT_OUT.length > 0 ? `, left out here: ${LEFT_OUT.join(', ')}` : '';
  console.log(`chaos: seed ${seed}, ${minutes} min${leftOut}`);
  const world = await World.start(seed);
  let isOver = false;
  const leave = () => {
    if (!isOver) void world.stop().finally(() => process.exit(130));
    isOver = true;
  };
  process.once('SIGINT', leave).once('SIGTERM', leave);

  let passed = false;
  try {
    await prepare(world, seed);
    const watching = { stopped: false, progress: 0 };
    const watched = watch(world.postgres, world.history, watching);
    world.startWorkers();
    const faults = new Faults(world, () => watching.progress);
    await faults.run(schedule(seed, minutes * 60_000), minutes * 60_000);
    console.log(`faults: ${JSON.stringify(faults.counts)}`);
    const stuck = await settle(world);
    watching.stopped = true;
    await watched;
    await world.stopBrokers();

    const steps = readHistory(world.historyDirectory);
    const final = await finalOf(world.postgres, transactionIdsOf(steps));
    writeFileSync(join(world.directory, 'final.json'), JSON.stringify({ ...final, stuck }));
    passed = await judge(world.directory);
  } catch (error) {
    console.log(error.stack);
  } finally {
    isOver = true;
    await world.stop();
    if (passed && !keep) rmSync(world.directory, { recursive: true, force: true });
    else console.log(`everything of this run is in ${world.directory}`);
  }
  console.log(`${passed ? 'passed' : 'FAILED'}: chaos, seed ${seed}, ${minutes} min`);
  return passed;
}

/** The plan goes to the history first. Everything the workload relies on is there before the first fault. */
async function prepare(world, seed) {
  const names = Object.keys(FAULTS);
  world.history.note('plan', { seed, ...PLAN, faults: names });
  const client = new Client(world.targets, world.history);
  for (const { name, options } of PLAN.queues)
    await until(async () => (await client.configure(0, name, options)) !== null, `${name} to be configured`);
  const stone = { queue: 'chaos.out', partition: 'p0', transactionId: STUMBLE, payload: { id: STUMBLE } };
  await until(async () => (await client.push(0, [stone])) !== null, 'the first push');
  await client.close();
}

/** Reads what a run left in its directory, and nothing else. */
async function judge(directory) {
  const steps = readHistory(join(directory, 'history'));
  const final = JSON.parse(readFileSync(join(directory, 'final.json'), 'utf8'));
  const { violations, work } = check(steps, final);
  violations.push(...(await tableBreaches(final)));
  console.log(`work: ${JSON.stringify(work)}`);
  mkdirSync(directory, { recursive: true });
  const text = report(violations, steps, final);
  if (text !== '') {
    writeFileSync(join(directory, 'report.txt'), text);
    console.log(text.length > 40_000 ? `${text.slice(0, 40_000)}\n… (the rest is in report.txt)` : text);
  }
  return violations.length === 0;
}

function transactionIdsOf(steps) {
  const ids = new Set();
  for (const { do: what, items, pushes } of steps) {
    if (what === 'push') for (const [, , id] of items) ids.add(id);
    if (what === 'transaction') for (const [, , id] of pushes) ids.add(id);
  }
  return [...ids];
}
