import { afterAll, beforeAll, describe, it } from '@jest/globals';
import fc from 'fast-check';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { ackSome, ackTogether, ackUpTo, failHead } from './ack.steps.js';
import { Model } from './broker.model.js';
import { drain } from './drain.js';
import { deadLetter, renewal } from './lease.steps.js';
import { popNames, popPartition } from './pop.steps.js';
import { askDiscoverable, askPending, reseed, segmentAt } from './probe.steps.js';
import { pushInVain, pushMany, pushOne } from './push.steps.js';
import { popDiscovered, popQueue } from './scan.steps.js';
import { clearLog, takeSnapshot } from './snapshot.js';
import type { Real, Step } from './step.js';
import {
  beginning,
  configure,
  configureInVain,
  deleteQueue,
  expire,
  retention,
  timePasses,
  timeZone,
} from './world.steps.js';

/*
 * The stored procedures against a model of them: random steps, one session, every row compared after every step.
 *
 * Where the invariants of the storage rules are looked at:
 *   invariants.ts     I1 to I6, I8, I9, I11 to I15 (never falls), I42: on the rows alone, after every step
 *   settle.ts         every row of every table equals the model's: I9, I15 (exact), I35, I36, I43's columns, I44
 *   push.steps.ts     I7, I27, I28, I29; I45 for createdAt
 *   pop.expect.ts     I10, I16, I19 to I26, I30, I31, I32 (what a pop gives is what the model gives)
 *   probe.steps.ts    I10, I40
 *   who.ts            I34
 *   lease.steps.ts    I33; I45 for expiresAt
 *   drain.ts          I17, I18: at the end of a run
 *   concurrent.property.spec.ts  I1 to I8, I11 to I14, I16, I17, I19, I28, I43 with several sessions
 * I37 to I39 are checked in retention.property.spec.ts, I41 in transaction.property.spec.ts.
 *
 * A failure prints the steps. To run it again, pass what it prints: QUEEN_TEST_SEED=… QUEEN_TEST_PATH=…
 * QUEEN_TEST_REPLAY_PATH=… ; to look longer than the usual half minute: QUEEN_TEST_PROPERTY_SECONDS=600.
 */

const SECONDS = Number(process.env.QUEEN_TEST_PROPERTY_SECONDS ?? 25);
const SEED = process.env.QUEEN_TEST_SEED;
/** A seed stands for so many runs: enough for fast-check to vary their length, few enough to stop in time. */
const RUNS_PER_SEED = 10;
const STEPS_MAX = 120;

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

/** fast-check picks evenly, so what is to come more often stands more often. */
function times(count: number, step: fc.Arbitrary<Step>): fc.Arbitrary<Step>[] {
  return Array<fc.Arbitrary<Step>>(count).fill(step);
}

const steps = fc.commands(
  [
    ...[times(8, pushMany), times(3, pushOne), times(2, pushInVain)],
    ...[times(7, popPartition), times(6, popNames), times(5, popQueue), times(3, popDiscovered)],
    ...[
      times(14, ackSome),
      times(5, failHead),
      times(5, ackUpTo),
      times(3, ackTogether),
      times(4, deadLetter),
      times(3, renewal),
    ],
    ...[times(6, configure), times(1, configureInVain), times(1, deleteQueue)],
    ...[times(3, timePasses), times(3, expire), times(4, retention), times(1, timeZone)],
    ...[times(3, askPending), times(1, askDiscoverable), times(1, reseed), times(1, segmentAt)],
  ].flat(),
  { maxCommands: STEPS_MAX, size: 'max', replayPath: process.env.QUEEN_TEST_REPLAY_PATH },
);

describe('the stored procedures', () => {
  it(
    'do what the model says, whatever the steps',
    async () => {
      const session = await db.connect({ application_name: 'property' });
      const property = fc.asyncProperty(beginning, steps, async (first, commands) => {
        await session.query(`set timezone = 'UTC'`);
        await clearLog(session);
        const seen = await takeSnapshot(session);
        const model = new Model(seen.now);
        const real: Real = { session, seen };
        await first.run(model, real);
        await fc.asyncModelRun(() => ({ model, real }), commands);
        await drain(model, real);
      });

      const untilMs = performance.now() + SECONDS * 1000;
      let seed = SEED === undefined ? Date.now() % 1_000_000_000 : Number(SEED);
      do {
        await fc.assert(property, {
          ...{ seed, path: process.env.QUEEN_TEST_PATH, numRuns: RUNS_PER_SEED },
        });
        seed += 1;
      } while (SEED === undefined && performance.now() < untilMs);
    },
    (SECONDS + 240) * 1000,
  );
});
