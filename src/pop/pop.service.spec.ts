import { beforeEach, describe, expect, it } from '@jest/globals';
import { ManualClock } from '../base/clock/manual-clock.js';
import { parseEnvironment } from '../base/config/environment.js';
import { BrokerError } from '../base/errors/broker-error.js';
import { WaitExpiredError } from '../limiter/lane.js';
import type { LimiterService } from '../limiter/limiter.service.js';
import type { QueueConfigService } from '../queue-config/queue-config.service.js';
import type { RawSqlService } from '../raw-sql/raw-sql.service.js';
import { WakeGateService } from '../wake-gate/wake-gate.service.js';
import type { CandidateSource } from './candidate-source/candidate-source.js';
import type { ChooseSource } from './candidate-source/choose-source.js';
import type { ClaimedPartition } from './claim.js';
import type { FillWindow } from './fill-window.js';
import type { HandOver } from './hand-over.js';
import { PopMaintenance } from '../base/maintenance/maintenance-switch.js';
import { PopMetrics } from './pop.metrics.js';
import { PopRequestParser } from './pop.request.js';
import { PopService } from './pop.service.js';
import type { PutAside } from './put-aside.js';

/** Records the order of everything a pop takes and gives back; the gate is the real one on a manual clock. */
class Bench {
  readonly clock = new ManualClock();
  readonly gates = new WakeGateService(this.clock, (run) => queueMicrotask(run));
  readonly maintenance = new PopMaintenance();
  readonly trail: string[] = [];
  /** What each look and each claim answer, first to last; the last answer stays. */
  looks: boolean[] = [false];
  claims: (ClaimedPartition[] | Error)[] = [[]];
  quiet: () => boolean | undefined = () => true;
  beforePermit: () => Promise<void> = () => Promise.resolve();
  isHolding = { permit: 0, connection: 0 };
  /** What a claim with others answers; null: this one is made alone. */
  shared: (() => Promise<ClaimedPartition[]>) | null = null;

  private readonly source: CandidateSource = {
    path: 'hotlist',
    mayHaveWork: () => {
      this.trail.push('look');
      return next(this.looks);
    },
    claim: () => {
      this.trail.push('claim');
      const answer = next(this.claims);
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    },
    claimShared: () => this.shared?.() ?? null,
    stillQuiet: () => this.quiet(),
    estimate: () => Infinity,
  };

  readonly service = new PopService(
    this.maintenance,
    { for: () => Promise.resolve(this.source) } as unknown as ChooseSource,
    {
      anyConfigured: true,
      hold: () => {
        this.trail.push('hold');
        return Promise.resolve();
      },
    } as unknown as FillWindow,
    {
      withPermit: async (_lane: string, _gone: AbortSignal, run: (permit: unknown) => Promise<unknown>) => {
        await this.beforePermit();
        this.trail.push('permit');
        this.isHolding.permit++;
        try {
          return await run({ sample: () => undefined, timedOut: () => this.trail.push('timed out') });
        } finally {
          this.isHolding.permit--;
          this.trail.push('permit back');
        }
      },
    } as unknown as LimiterService,
    {
      withConnection: async (_gone: AbortSignal, run: (connection: unknown) => Promise<unknown>) => {
        this.trail.push('connection');
        this.isHolding.connection++;
        try {
          return await run({});
        } finally {
          this.isHolding.connection--;
          this.trail.push('connection back');
        }
      },
    } as unknown as RawSqlService,
    {
      claim: (_connection: unknown, _request: unknown, claim: () => unknown) => claim(),
    } as unknown as PutAside,
    {
      of: () => {
        this.trail.push('hand over');
        return Promise.resolve({ count: 1, body: Buffer.from('{}') });
      },
    } as unknown as HandOver,
    this.gates,
    { peek: () => ({ minPopWaitMs: 5 }) } as unknown as QueueConfigService,
    new PopMetrics(),
    this.clock,
    parseEnvironment({}),
  );

  pop(query: string, gone = new AbortController().signal) {
    return this.service.serve(
      new PopRequestParser(30_000).parse({ scope: 'queue', queue: 'orders' }, query),
      gone,
    );
  }
}

const delivered = [{} as ClaimedPartition];

function next<T>(answers: T[]): T {
  return answers.length > 1 ? answers.shift()! : answers[0];
}

async function settle(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}

describe('the life of a pop', () => {
  let bench: Bench;
  beforeEach(() => {
    bench = new Bench();
    bench.quiet = () => undefined;
  });

  it('looks, holds, takes permit then connection, claims, gives both back, and only then hands over', async () => {
    bench.looks = [true];
    bench.claims = [delivered];
    expect(await bench.pop('')).toMatchObject({ count: 1 });
    expect(bench.trail).toEqual([
      'look',
      'hold',
      'permit',
      'connection',
      'claim',
      'connection back',
      'permit back',
      'hand over',
    ]);
  });

  it('takes neither permit nor connection when its claim is made with those of others', async () => {
    bench.looks = [true];
    bench.shared = () => Promise.resolve(delivered);
    expect(await bench.pop('')).toMatchObject({ count: 1 });
    expect(bench.trail).toEqual(['look', 'hold', 'hand over']);
  });

  it('treats a deadline that passes while it waits for the claim of others as an empty answer', async () => {
    bench.looks = [true];
    bench.shared = () => {
      bench.clock.advance(100);
      return Promise.reject(new WaitExpiredError());
    };
    expect(await bench.pop('wait=true&timeout=100')).toEqual({ count: 0 });
    expect(bench.trail).not.toContain('permit');
  });

  it('takes no permit and no connection for ten thousand empty re-polls', async () => {
    for (let i = 0; i < 10_000; i++) await bench.pop('');
    expect(bench.trail).toHaveLength(10_000);
    expect(new Set(bench.trail)).toEqual(new Set(['look']));
  });

  it('makes exactly one attempt without wait', async () => {
    bench.looks = [true];
    expect(await bench.pop('')).toEqual({ count: 0 });
    expect(bench.trail.filter((step) => step === 'claim')).toHaveLength(1);
    expect(bench.gates.stats().gates).toBe(0);
  });

  it('parks holding nothing and serves when woken', async () => {
    const pop = bench.pop('wait=true');
    await settle();
    expect(bench.gates.stats().parked).toBe(1);
    expect(bench.isHolding).toEqual({ permit: 0, connection: 0 });
    bench.looks = [true];
    bench.claims = [delivered];
    bench.gates.open('00000000-0000-0000-0000-000000000001\u001forders', 'p');
    expect(await pop).toMatchObject({ count: 1 });
    expect(bench.clock.pendingTimers).toBe(0);
  });

  it('re-polls after 100, 100, 100, 800 and then every 1000 ms', async () => {
    const looksAtMs: number[] = [];
    bench.looks = [false];
    const push = bench.trail.push.bind(bench.trail);
    bench.trail.push = (...steps) => {
      looksAtMs.push(bench.clock.monoMs());
      return push(...steps);
    };
    const pop = bench.pop('wait=true&timeout=4000');
    for (let ms = 0; ms <= 4000; ms += 10) {
      await settle();
      bench.clock.advance(10);
    }
    expect(await pop).toEqual({ count: 0 });
    expect(looksAtMs).toEqual([0, 100, 200, 300, 1100, 2100, 3100, 4000]);
  });

  it('answers nothing at the deadline', async () => {
    const pop = bench.pop('wait=true&timeout=50');
    await settle();
    bench.clock.advance(50);
    expect(await pop).toEqual({ count: 0 });
  });

  it('treats a deadline that passes in the permit queue as an empty answer', async () => {
    bench.looks = [true];
    bench.beforePermit = () => {
      bench.clock.advance(100);
      return Promise.reject(new WaitExpiredError());
    };
    expect(await bench.pop('wait=true&timeout=100')).toEqual({ count: 0 });
    expect(bench.trail).not.toContain('connection');
  });

  it('costs no connection when others of the herd took the work while it waited for its permit', async () => {
    bench.looks = [true];
    bench.quiet = () => true;
    expect(await bench.pop('')).toEqual({ count: 0 });
    expect(bench.trail).toEqual(['look', 'hold', 'permit', 'permit back']);
  });

  it('ends when the client leaves while parked, and leaves no waiter and no timer', async () => {
    const client = new AbortController();
    const pop = bench.pop('wait=true', client.signal);
    await settle();
    client.abort();
    expect(await pop).toEqual({ count: 0 });
    expect(bench.gates.stats()).toMatchObject({ parked: 0, gates: 0 });
    expect(bench.clock.pendingTimers).toBe(0);
  });

  it('does no work at all during maintenance, and parked pops leave when it begins', async () => {
    const parked = bench.pop('wait=true');
    await settle();
    bench.maintenance.set(true);
    bench.gates.wakeAll();
    expect(await parked).toEqual({ count: 0 });
    bench.trail.length = 0;
    expect(await bench.pop('wait=true')).toEqual({ count: 0 });
    expect(bench.trail).toEqual([]);
  });

  it('begins no claim once the gates are closed', async () => {
    bench.looks = [true];
    bench.gates.closeAll();
    expect(await bench.pop('wait=true')).toEqual({ count: 0 });
    expect(bench.trail).toEqual([]);
  });

  it('gives both back when the claim fails, and passes the failure on', async () => {
    bench.looks = [true];
    bench.claims = [new BrokerError('statement_timeout')];
    await expect(bench.pop('wait=true')).rejects.toMatchObject({ code: 'statement_timeout' });
    expect(bench.isHolding).toEqual({ permit: 0, connection: 0 });
    expect(bench.trail).toContain('timed out');
  });
});
