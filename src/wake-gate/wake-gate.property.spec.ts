import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ManualClock } from '../base/clock/manual-clock.js';
import { queueKey } from '../base/queue-key.js';
import { WakeGateService } from './wake-gate.service.js';
import type { WakeKey } from './wake-key.js';
import type { WakeTicket } from './wake-ticket.js';

const key = queueKey('tenant', 'q');
const wakeKeys: WakeKey[] = [
  { kind: 'queue', key },
  { kind: 'partition', key, partition: 'a' },
  { kind: 'partition', key, partition: 'b' },
  { kind: 'discovery', tenant: 'tenant' },
];
/** A wake is at most this late: the pause of a pop over its allowance, or the discovery gate's gap. */
const latestMs = { queue: 5, partition: 5, discovery: 55 };

/** One pop: looking, or parked. `owedSinceMs`: when an opening that concerns it came after its last look. */
interface Pop {
  wakeKey: WakeKey;
  ticket: WakeTicket;
  client: AbortController;
  parkedAtMs: number | null;
  owedSinceMs: number | null;
}

class World {
  readonly clock = new ManualClock();
  private readonly turns: (() => void)[] = [];
  readonly gates = new WakeGateService(this.clock, (run) => this.turns.push(run));
  readonly pops: Pop[] = [];
  wokenForNothing = 0;

  arrive(n: number): void {
    const wakeKey = wakeKeys[n % wakeKeys.length];
    const ticket = this.gates.ticket(wakeKey);
    this.pops.push({ wakeKey, ticket, client: new AbortController(), parkedAtMs: null, owedSinceMs: null });
  }

  park(pop: Pop, ms: number): void {
    pop.parkedAtMs = this.clock.monoMs();
    void this.gates.park(pop.ticket, ms, pop.client.signal).then((woken) => {
      pop.parkedAtMs = null;
      // The end of a discovery gate's 50 ms may be owed to a push from before the pop came.
      if (woken && pop.owedSinceMs === null && pop.wakeKey.kind !== 'discovery') this.wokenForNothing += 1;
      pop.owedSinceMs = null; // it looks again, woken or not
      pop.ticket.refresh();
    });
  }

  open(partition: string | undefined): void {
    this.gates.open(key, partition);
    for (const pop of this.pops) {
      const { wakeKey } = pop;
      if (wakeKey.kind === 'partition' && partition !== undefined && partition !== wakeKey.partition)
        continue;
      pop.owedSinceMs ??= this.clock.monoMs();
    }
  }

  leave(pop: Pop): void {
    pop.client.abort();
    pop.ticket[Symbol.dispose]();
    this.pops.splice(this.pops.indexOf(pop), 1);
  }

  async settle(): Promise<void> {
    do {
      for (const turn of this.turns.splice(0)) turn();
      // Microtasks only: a turn of the event loop for each of thousands of steps would take seconds.
      for (let i = 0; i < 8; i++) await Promise.resolve();
    } while (this.turns.length > 0);
  }
}

const step = fc.record({
  kind: fc.constantFrom('arrive', 'park', 'park', 'open', 'open', 'leave', 'advance'),
  n: fc.nat(50),
  partition: fc.constantFrom('a', 'b', undefined),
});

describe('WakeGateService under random pops and pushes', () => {
  it('loses no wake, keeps its gauge exact, and leaves no timer or gate behind', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 80 }), async (steps) => {
        const world = new World();
        const { clock, gates } = world;
        for (const { kind, n, partition } of steps) {
          const pop = world.pops[n % Math.max(1, world.pops.length)];
          if (kind === 'arrive') world.arrive(n);
          else if (kind === 'open') world.open(partition);
          else if (kind === 'leave' && pop) world.leave(pop);
          else if (kind === 'park' && pop?.parkedAtMs === null) world.park(pop, 60 + n);
          else if (kind === 'advance') {
            for (let i = 0; i < n; i++) {
              clock.advance(1);
              await world.settle();
            }
          }
          if (n % 3 === 0) continue; // the next step comes in the same turn
          await world.settle();
          for (const { parkedAtMs, owedSinceMs, wakeKey } of world.pops) {
            if (parkedAtMs === null || owedSinceMs === null) continue;
            const waitedMs = clock.monoMs() - Math.max(owedSinceMs, parkedAtMs);
            expect(waitedMs).toBeLessThanOrEqual(latestMs[wakeKey.kind]);
          }
        }
        await world.settle();
        const parked = world.pops.filter((pop) => pop.parkedAtMs !== null);
        expect(world.wokenForNothing).toBe(0);
        expect(gates.stats().parked).toBe(parked.length);
        for (const pop of [...world.pops]) world.leave(pop);
        await world.settle();
        expect(gates.stats()).toMatchObject({ parked: 0, gates: 0 });
        expect(clock.pendingTimers).toBe(0);
      }),
      { numRuns: 100 },
    );
  }, 30_000);
});
