import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ManualClock } from '../base/clock/manual-clock.js';
import { AbortedError } from '../base/errors/aborted-error.js';
import { Lane, WaitExpiredError } from './lane.js';
import type { Permit } from './permit.js';

type Outcome = 'waiting' | 'granted' | 'left' | 'expired' | 'overloaded';

interface Call {
  gone: AbortController;
  outcome: Outcome;
  permit: Permit | null;
}

const maxWaiters = 6;

/** A lane and everything anybody asked of it. */
class World {
  readonly clock = new ManualClock();
  readonly lane = new Lane(
    { limits: { init: 3, min: 2, max: 5 }, alpha: 3, beta: 6, maxWaiters, maxWaitMs: 300 },
    this.clock,
  );
  readonly calls: Call[] = [];

  ask(key: string | undefined): void {
    const call: Call = { gone: new AbortController(), outcome: 'waiting', permit: null };
    this.calls.push(call);
    this.lane.acquire(call.gone.signal, { key, waitMs: this.calls.length % 3 === 0 ? 100 : undefined }).then(
      (permit) => {
        call.outcome = 'granted';
        call.permit = permit;
      },
      (error: Error) => {
        if (error instanceof AbortedError) call.outcome = 'left';
        else call.outcome = error instanceof WaitExpiredError ? 'expired' : 'overloaded';
      },
    );
  }

  having(outcome: Outcome): Call[] {
    return this.calls.filter((call) => call.outcome === outcome);
  }

  get held(): Call[] {
    return this.calls.filter((call) => call.permit !== null);
  }
}

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom('a', 'b', undefined).map((key) => ({ kind: 'ask' as const, key, n: 0 })),
  },
  { weight: 3, arbitrary: fc.nat(9).map((n) => ({ kind: 'release' as const, key: undefined, n })) },
  { weight: 1, arbitrary: fc.nat(9).map((n) => ({ kind: 'abort' as const, key: undefined, n })) },
  { weight: 1, arbitrary: fc.nat(9).map((n) => ({ kind: 'sample' as const, key: undefined, n })) },
  { weight: 1, arbitrary: fc.nat(9).map((n) => ({ kind: 'timeout' as const, key: undefined, n })) },
  { weight: 1, arbitrary: fc.nat(150).map((n) => ({ kind: 'advance' as const, key: undefined, n })) },
);

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

function apply(world: World, { kind, key, n }: Step): void {
  const pick = (calls: Call[]): Call | undefined => calls[n % Math.max(1, calls.length)];
  if (kind === 'ask') world.ask(key);
  else if (kind === 'advance') world.clock.advance(n);
  else if (kind === 'abort') pick(world.having('waiting'))?.gone.abort();
  else if (kind === 'sample') pick(world.held)?.permit?.sample(n);
  else if (kind === 'timeout') pick(world.held)?.permit?.timedOut();
  else {
    const call = pick(world.held);
    call?.permit?.release();
    if (call) call.permit = null;
  }
}

/** Lets every promise that is decided be heard; microtasks only, since turns of the event loop are many here. */
async function heard(): Promise<void> {
  for (let i = 0; i < 8; i++) await Promise.resolve();
}

describe('Lane under random asking, leaving and giving back', () => {
  it('keeps its counts exact, never strands a waiter beside a free permit, and ends every wait once', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(step, fc.boolean()), { minLength: 50, maxLength: 100 }),
        async (steps) => {
          const world = new World();
          for (const [next, settle] of steps) {
            apply(world, next);
            // Without settling, several steps meet before anybody hears of a grant: the races of real life.
            if (settle) await heard();
            const { limit, inFlight, waiting } = world.lane.stats();
            expect(waiting).toBeLessThanOrEqual(maxWaiters);
            if (waiting > 0) expect(inFlight).toBeGreaterThanOrEqual(Math.floor(limit));
            if (settle) {
              expect(inFlight).toBe(world.held.length);
              expect(waiting).toBe(world.having('waiting').length);
              expect(world.clock.pendingTimers).toBe(waiting);
            }
          }
          while (world.held.length + world.having('waiting').length > 0) {
            for (const call of world.held) {
              call.permit?.release();
              call.permit = null;
            }
            await heard();
          }
          expect(world.lane.stats()).toMatchObject({ inFlight: 0, waiting: 0 });
        },
      ),
      { numRuns: 80 },
    );
  }, 30_000);
});
