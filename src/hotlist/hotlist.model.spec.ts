import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { auditRing, newHotlist } from '../../test/support/hotlist.js';
import type { Checkout } from './checkout.js';
import type { DeferralConfig } from './holds.js';
import { writeTimeLagMs } from './ring-marks.js';
import type { ReseedWalk } from './reseed-walk.js';
import { IDLE, INFLIGHT, type Ring, WHEEL } from './ring.js';
import { SLOT_MASK } from './entry-table.js';
import type { Verdict } from './verdict.js';

const key = 't\u001fq';
const group = 'g';
const names = ['a', 'b', 'c', 'd'];
const padMs = 300;
const revisitCapMs = 1000;
const leaseMs = 2000;

const configs: DeferralConfig[] = [
  { delayedMs: 0, windowMs: 0, minPopWaitMs: 0 },
  { delayedMs: 1500, windowMs: 0, minPopWaitMs: 0 },
  { delayedMs: 0, windowMs: 1200, minPopWaitMs: 0 },
];

/** A partition as PostgreSQL has it: when each message came, the cursor, the lease. */
interface Partition {
  name: string;
  pushedAtMs: number[];
  committed: number;
  lease: { untilMs: number; end: number } | null;
  /** Number of the last event that made it pending without telling the ring; 0 when the ring was told. */
  untold: number;
}

interface Claim {
  checkout: Checkout;
  autoAck: boolean;
  /** Once the statement ran. */
  verdicts: Verdict[] | null;
  leases: Delivery[];
}

interface Delivery {
  partition: Partition;
  lease: object;
}

interface Walk {
  walk: ReseedWalk;
  /** Once the statement ran: its rows, and the last event it saw. */
  snapshot: { rows: string[]; events: number } | null;
}

/** The hot-list, the little database it believes things about, and everything that is under way between them. */
class World {
  readonly test = newHotlist({
    reseedMs: 2000,
    reseedFullMs: 8000,
    idleSweepMs: 20_000,
    unservedTrimMs: 9000,
  });
  readonly partitions: Partition[] = names.map((name) => ({
    name,
    pushedAtMs: [],
    committed: 0,
    lease: null,
    untold: 0,
  }));
  private readonly claims: Claim[] = [];
  private readonly deliveries: Delivery[] = [];
  private walk: Walk | null = null;
  private events = 0;

  constructor(private config: DeferralConfig) {
    this.test.ticker.onApplicationBootstrap();
    this.register();
  }

  private get nowMs(): number {
    return this.test.clock.monoMs();
  }

  get ring(): Ring | undefined {
    return this.test.hotlist['book'].ring(key, group);
  }

  isPending({ pushedAtMs, committed }: Partition): boolean {
    return pushedAtMs.length > committed;
  }

  register(): void {
    const { hotlist } = this.test;
    hotlist.registerRing(key, group);
    hotlist.setConfig(key, this.config);
  }

  reconfigure(config: DeferralConfig): void {
    this.config = config;
    this.test.hotlist.setConfig(key, config);
  }

  push(partition: Partition, count: number, isTold: boolean): void {
    for (let n = 0; n < count; n++) partition.pushedAtMs.push(this.nowMs);
    if (isTold) this.tell(partition, count);
    else partition.untold = ++this.events;
  }

  private tell(partition: Partition, count: number): void {
    this.test.hotlist.offer(key, partition.name, count);
    partition.untold = 0;
  }

  seekBack(partition: Partition): void {
    if (partition.committed === 0) return;
    partition.committed = 0;
    partition.lease = null;
    partition.untold = ++this.events;
    this.test.hotlist.forceFullReseed(key, group);
  }

  take(k: number, want: number, autoAck: boolean): void {
    this.register();
    const checkout = this.test.hotlist.checkOut(key, group, { k, want });
    if (checkout.list.length > 0) this.claims.push({ checkout, autoAck, verdicts: null, leases: [] });
  }

  private claimAt(at: number): Claim | undefined {
    return this.claims[at % (this.claims.length || 1)];
  }

  /** The statement of a claim. `isBeaten`: another broker's auto-ack claim holds the rows just now. */
  execute(at: number, budget: number, isBeaten: boolean): void {
    const claim = this.claimAt(at);
    if (!claim || claim.verdicts) return;
    claim.verdicts = [];
    let left = budget;
    for (const name of claim.checkout.list) {
      if (left <= 0) break;
      const partition = this.partitions[names.indexOf(name)]!;
      const verdict = this.claimOne(partition, claim, left, isBeaten);
      claim.verdicts.push({ ...verdict, partition: name, partitionId: `id-${name}` });
      if (verdict.taken) left -= verdict.taken;
    }
  }

  private claimOne(
    partition: Partition,
    claim: Claim,
    budget: number,
    isBeaten: boolean,
  ): Pick<Verdict, 'state' | 'drained' | 'waitMs'> & { taken?: number } {
    const { pushedAtMs, committed, lease } = partition;
    if (lease && lease.untilMs > this.nowMs) return { state: 'leased', waitMs: lease.untilMs - this.nowMs };
    const visible = pushedAtMs.filter((atMs) => atMs + this.config.delayedMs <= this.nowMs).length;
    if (visible <= committed || isBeaten) {
      return this.isPending(partition) ? { state: 'leased', waitMs: 250 } : { state: 'empty' };
    }
    const end = committed + Math.min(budget, visible - committed);
    if (claim.autoAck) {
      partition.committed = end;
      partition.lease = null;
    } else {
      partition.lease = { untilMs: this.nowMs + leaseMs, end };
      claim.leases.push({ partition, lease: partition.lease });
    }
    return { state: 'took', drained: end === pushedAtMs.length, taken: end - committed };
  }

  checkIn(at: number): void {
    const claim = this.claimAt(at);
    if (!claim?.verdicts) return;
    claim.checkout.checkIn(claim.verdicts, { autoAck: claim.autoAck, leaseMs });
    this.claims.splice(this.claims.indexOf(claim), 1);
    this.deliveries.push(...claim.leases);
  }

  /** The pop ends in an error, or (lost) without giving its names back at all. */
  abandon(at: number, isLost: boolean): void {
    const claim = this.claimAt(at);
    if (!claim) return;
    if (!isLost) claim.checkout[Symbol.dispose]();
    this.claims.splice(this.claims.indexOf(claim), 1);
  }

  /** `isHere`: this broker served the ack, so the ring hears of it. */
  settleDelivery(at: number, isCompleted: boolean, isHere: boolean): void {
    const delivery = this.deliveries[at % (this.deliveries.length || 1)];
    if (!delivery) return;
    this.deliveries.splice(this.deliveries.indexOf(delivery), 1);
    const { partition, lease } = delivery;
    if (partition.lease !== lease || partition.lease.untilMs <= this.nowMs) return;
    if (isCompleted) partition.committed = partition.lease.end;
    partition.lease = null;
    if (isHere) this.test.hotlist.promote(key, group, { id: `id-${partition.name}` }, isCompleted);
  }

  /** Another broker takes a lease. */
  claimElsewhere(partition: Partition): void {
    if (!this.isPending(partition) || (partition.lease && partition.lease.untilMs > this.nowMs)) return;
    partition.lease = { untilMs: this.nowMs + leaseMs, end: partition.pushedAtMs.length };
    this.deliveries.push({ partition, lease: partition.lease });
  }

  /** The next step of a walk: begin, read, apply and finish. */
  async stepWalk(isOk: boolean): Promise<void> {
    if (!this.walk) {
      const walk = this.test.hotlist.beginReseed(key, group);
      if (walk) this.walk = { walk, snapshot: null };
    } else if (!this.walk.snapshot) {
      const sinceMs = this.nowMs - (this.walk.walk.windowMs ?? Infinity);
      const rows = this.partitions.filter((one) => this.isPending(one) && one.pushedAtMs.at(-1)! >= sinceMs);
      this.walk.snapshot = { rows: rows.map(({ name }) => name), events: this.events };
    } else {
      const { walk, snapshot } = this.walk;
      this.walk = null;
      if (isOk) await this.applyRows(walk, snapshot);
      walk.finish(isOk);
    }
  }

  private async applyRows(
    walk: ReseedWalk,
    { rows, events }: { rows: string[]; events: number },
  ): Promise<void> {
    const isOfUse = await walk.apply(rows.map((name) => ({ id: `id-${name}`, name })));
    for (const partition of this.partitions) {
      if (isOfUse && rows.includes(partition.name) && partition.untold <= events) partition.untold = 0;
    }
  }

  /** What must hold after every step; empty when it does. */
  faults(): string[] {
    const { ring } = this;
    if (!ring) return [];
    const partitions = this.test.hotlist['book'].queue(key)!.partitions;
    const faults = auditRing(ring, partitions.size);
    // A cold ring owes a full walk, which finds everything.
    const isCold = ring.reseed.fullWalkAgeMs(this.nowMs) === undefined;
    const boundMs = Math.max(
      revisitCapMs,
      this.config.delayedMs + padMs,
      this.config.windowMs + writeTimeLagMs,
    );
    for (const partition of this.partitions) {
      if (!this.isPending(partition)) {
        partition.untold = 0;
        continue;
      }
      const index = partitions.find(partition.name);
      const state = index === undefined ? IDLE : ring.stateOf(index);
      if (state === IDLE && !isCold && partition.untold === 0) {
        faults.push(`${partition.name} is pending, was told, and is idle`);
      }
      if (state === WHEEL && ring.revisitMsOf(index!) > this.nowMs + boundMs) {
        faults.push(`${partition.name} rests until ${ring.revisitMsOf(index!)}`);
      }
      if (state === INFLIGHT) {
        const owner = ring.entries.page(index!).owner[index! & SLOT_MASK]!;
        if (!this.test.hotlist['checkouts'].isAlive(owner))
          faults.push(`${partition.name} is out with nobody`);
      }
    }
    return faults;
  }

  /** All that is under way ends, in some way. */
  async wrapUp(): Promise<void> {
    while (this.claims.length > 0) this.abandon(0, false);
    while (this.walk) await this.stepWalk(false);
    // Names lost for good come back by the ticket sweep.
    this.test.clock.advance(41_000);
  }

  /** One consumer polls until everything is delivered; returns how long that took. */
  async drain(limitMs: number): Promise<number> {
    const startMs = this.nowMs;
    while (this.partitions.some((partition) => this.isPending(partition)) && this.nowMs - startMs < limitMs) {
      this.register();
      if (this.test.hotlist.needsReseed(key, group))
        for (let step = 0; step < 3; step++) await this.stepWalk(true);
      this.take(2, 5, true);
      this.execute(0, 5, false);
      this.checkIn(0);
      this.test.clock.advance(100);
    }
    return this.nowMs - startMs;
  }
}

/** What the story of a failed run calls the step, and the step. */
type Step = [text: string, act: (world: World) => unknown];

const partitionAt = fc.nat({ max: names.length - 1 });
const usually = fc.integer({ min: 0, max: 4 }).map((dice) => dice > 0);
const at = fc.nat({ max: 5 });

function weighted<T>(weight: number, values: fc.Arbitrary<T>, step: (value: T) => Step) {
  return { weight, arbitrary: values.map(step) };
}

const anyStep = fc.oneof(
  weighted(20, fc.tuple(partitionAt, fc.integer({ min: 1, max: 4 }), usually), ([p, n, told]) => [
    `push ${n} to ${names[p]}${told ? '' : ', mark lost'}`,
    (world) => world.push(world.partitions[p]!, n, told),
  ]),
  weighted(
    20,
    fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 8 }), fc.boolean()),
    ([k, want, autoAck]) => [
      `take ${k} for ${want}${autoAck ? ', auto-ack' : ''}`,
      (world) => world.take(k, want, autoAck),
    ],
  ),
  weighted(24, fc.tuple(at, fc.integer({ min: 1, max: 8 }), usually), ([n, budget, wins]) => [
    `execute claim ${n} for ${budget}${wins ? '' : ', beaten'}`,
    (world) => world.execute(n, budget, !wins),
  ]),
  weighted(24, at, (n) => [`check in claim ${n}`, (world) => world.checkIn(n)]),
  weighted(3, fc.tuple(at, usually), ([n, kept]) => [
    `abandon claim ${n}${kept ? '' : ', lost'}`,
    (world) => world.abandon(n, !kept),
  ]),
  weighted(20, fc.tuple(at, usually, usually), ([n, done, here]) => [
    `${done ? 'ack' : 'nack'} delivery ${n} ${here ? 'here' : 'elsewhere'}`,
    (world) => world.settleDelivery(n, done, here),
  ]),
  weighted(4, partitionAt, (p) => [
    `claim ${names[p]} elsewhere`,
    (world) => world.claimElsewhere(world.partitions[p]!),
  ]),
  weighted(4, partitionAt, (p) => [`seek ${names[p]} back`, (world) => world.seekBack(world.partitions[p]!)]),
  weighted(6, fc.constant(3), (count) => [
    'step the walk three times',
    async (world) => {
      for (let step = 0; step < count; step++) await world.stepWalk(true);
    },
  ]),
  weighted(16, usually, (ok) => [`step the walk${ok ? '' : ', failing'}`, (world) => world.stepWalk(ok)]),
  weighted(8, fc.constantFrom(1, 49, 250, 299, 1000, 2001), (ms) => [
    `${ms} ms pass`,
    (world) => world.test.clock.advance(ms),
  ]),
  weighted(1, fc.constant(12_000), (ms) => [`${ms} ms pass`, (world) => world.test.clock.advance(ms)]),
  weighted(1, fc.constantFrom(...configs), (config) => [
    `configure ${JSON.stringify(config)}`,
    (world) => world.reconfigure(config),
  ]),
  weighted(1, fc.constant(group), (name) => [
    'forget the group and register it again',
    (world) => (world.test.hotlist.forgetGroup(key, name), world.register()),
  ]),
);

describe('the hot-list against a small model of the database', () => {
  it('never loses sight of a pending partition, and delivers everything within its floors', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...configs),
        fc.array(anyStep, { minLength: 80, maxLength: 200, size: 'max' }),
        async (config, run) => {
          const world = new World(config);
          for (let step = 0; step < 3; step++) await world.stepWalk(true);
          for (let n = 0; n < run.length; n++) {
            await run[n]![1](world);
            const faults = world.faults();
            if (faults.length > 0) {
              const story = run.slice(0, n + 1).map(([text]) => text);
              throw new Error([...faults, 'after:', ...story].join('\n'));
            }
          }
          await world.wrapUp();
          expect(await world.drain(30_000)).toBeLessThan(15_000);
          expect(world.faults()).toEqual([]);
          world.test.ticker.onModuleDestroy();
        },
      ),
      { numRuns: 300 },
    );
  }, 60_000);
});
