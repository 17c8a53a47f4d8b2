import { beforeEach, describe, expect, it } from '@jest/globals';
import { ManualClock } from '../../base/clock/manual-clock.js';
import { BrokerError } from '../../base/errors/broker-error.js';
import type { HotlistService } from '../../hotlist/hotlist.service.js';
import { Checkout } from '../../hotlist/checkout.js';
import type { Verdict } from '../../hotlist/verdict.js';
import type { LimiterService } from '../../limiter/limiter.service.js';
import type { Permit } from '../../limiter/permit.js';
import type { RawSqlService } from '../../raw-sql/raw-sql.service.js';
import type { SqlConnection } from '../../raw-sql/connection-lease.js';
import { SqlStatementError } from '../../raw-sql/sql-failure.js';
import type { RingCandidates } from '../candidate-source/ring-candidates.js';
import type { ClaimedPartition } from '../claim.js';
import { PopRequestParser, type PopRequest } from '../pop.request.js';
import { PutAside } from '../put-aside.js';
import { ClaimFlusher } from './claim-flusher.js';
import { ClaimSender } from './claim-sender.js';
import type { JobArgs, PopMultiRow } from './pop-multi.procedures.js';

const parser = new PopRequestParser(30_000);

/** A ring of names, and a database that answers when the spec says so. Everything taken is counted. */
class Bench {
  readonly clock = new ManualClock();
  ready: string[] = [];
  out = 0;
  readonly trail: string[] = [];
  /** Names of each job of each statement. */
  readonly sent: string[][][] = [];
  readonly procedures: string[] = [];
  readonly held = { permit: 0, connection: 0 };
  timeouts = 0;
  noPermit: Error | null = null;
  private readonly pending: { answer(rows: unknown[]): void; fail(error: Error): void }[] = [];

  private readonly candidates = {
    most: () => 4,
    hasReady: () => this.ready.length > 0,
    skipsWindow: () => false,
    checkOut: ({ batch }: PopRequest, most: number) => {
      this.trail.push('check-out');
      const names = this.ready.splice(0, Math.min(batch, most));
      this.out += names.length;
      return new Checkout(1, 0, [], names, (_, verdicts) => this.giveBack(names, verdicts));
    },
    checkIn: (names: Checkout, { autoAck }: PopRequest, verdicts: readonly Verdict[]) =>
      names.checkIn(verdicts, { autoAck, leaseMs: 0 }),
  } as unknown as RingCandidates;

  private readonly connection = {
    call: ({ name }: { name: string }, args: unknown) => {
      this.procedures.push(name);
      const jobs = (name === 'log_pop_multi_v1' ? args : [args]) as JobArgs[];
      this.sent.push(jobs.map(({ names }) => [...names]));
      return new Promise<unknown[]>((answer, fail) => this.pending.push({ answer, fail }));
    },
  } as unknown as SqlConnection;

  readonly flusher = this.make(true);

  make(fusion: boolean, jobsMax = 64, flightsMax = 1): ClaimFlusher {
    return new ClaimFlusher(
      {
        withPermit: async (_lane: string, _gone: null, run: (permit: Permit) => Promise<void>) => {
          await Promise.resolve(); // never in the same turn
          if (this.noPermit) throw this.noPermit;
          this.take('permit');
          try {
            await run({ sample: () => undefined, timedOut: () => this.timeouts++ } as unknown as Permit);
          } finally {
            this.give('permit');
          }
        },
      } as unknown as LimiterService,
      {
        withConnection: async (_gone: null, run: (connection: SqlConnection) => Promise<void>) => {
          await Promise.resolve();
          this.take('connection');
          try {
            await run(this.connection);
          } finally {
            this.give('connection');
          }
        },
      } as unknown as RawSqlService,
      this.candidates,
      new ClaimSender(),
      new PutAside({ promote: () => undefined } as unknown as HotlistService),
      this.clock,
      { fusion, jobsMax, flightsMax },
      { maxWaiters: 3, maxWaitMs: 5000 },
    );
  }

  pop(query = 'batch=1', client = new AbortController(), isMoot = () => false, waitMs?: number) {
    const request = parser.parse({ scope: 'queue', queue: 'orders' }, query);
    const claimed = this.flusher.claim({ request, gone: client.signal, waitMs, isMoot });
    claimed.catch(() => undefined);
    return claimed;
  }

  /** Answers the oldest statement under way: each name is as the spec says, served unless told otherwise. */
  async answer(
    stateOf: (name: string) => 'took' | 'empty' | 'leased' | 'unseen' = () => 'took',
  ): Promise<void> {
    await turn();
    const index = this.sent.length - this.pending.length;
    const names = this.sent[index].flat();
    const isMulti = this.procedures[index] === 'log_pop_multi_v1';
    const rows = names.flatMap((name, part) => {
      const state = stateOf(name);
      if (state === 'unseen') return [];
      return isMulti ? [multiRow(part, name, state)] : listRows(name, state);
    });
    this.pending.shift()!.answer(rows);
    await turn();
  }

  async refuse(error: Error): Promise<void> {
    await turn();
    this.pending.shift()!.fail(error);
    await turn();
  }

  private giveBack(names: readonly string[], verdicts: readonly Verdict[]): void {
    this.out -= names.length;
    const gone = new Set(verdicts.map(({ partition }) => partition));
    this.ready.push(...names.filter((name) => !gone.has(name)));
  }

  private take(what: 'permit' | 'connection'): void {
    this.trail.push(what);
    this.held[what]++;
  }

  private give(what: 'permit' | 'connection'): void {
    this.trail.push(`${what} back`);
    this.held[what]--;
  }
}

const segmentOf = () => ({
  ...{ base: 0, startIdx: 0, take: 1, messageCount: 1, createdAtMicros: 0, blob: Buffer.alloc(0) },
});

function multiRow(part: number, name: string, state: 'took' | 'empty' | 'leased'): PopMultiRow {
  const took = state === 'took';
  return {
    ...{ part, partitionId: `id-${name}`, state, waitMs: null },
    ...{ segment: took ? segmentOf() : null, attempt: took ? 1 : null, lastOffset: took ? 0 : null },
  };
}

function listRows(partition: string, state: 'took' | 'empty' | 'leased'): unknown[] {
  const verdict = {
    kind: 'verdict',
    partition,
    partitionId: `id-${partition}`,
    state,
    lastOffset: 0,
    waitMs: null,
  };
  if (state !== 'took') return [verdict];
  const segment = { kind: 'segment', queue: 'orders', partition, partitionId: `id-${partition}`, attempt: 1 };
  return [{ ...segment, segment: segmentOf() }, verdict];
}

const turn = () => new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)));
const namesOf = (claimed: ClaimedPartition[]) => claimed.map(({ partition }) => partition);

describe('claims that share statements', () => {
  let bench: Bench;
  beforeEach(() => {
    bench = new Bench();
  });

  it('are one statement for pops that come together, and each gets its own', async () => {
    bench.ready = ['a', 'b', 'c'];
    const pops = [bench.pop(), bench.pop(), bench.pop()];
    await bench.answer();
    expect((await Promise.all(pops)).map(namesOf)).toEqual([['a'], ['b'], ['c']]);
    expect(bench.sent).toEqual([[['a'], ['b'], ['c']]]);
    expect(bench.out).toBe(0);
    expect(bench.clock.pendingTimers).toBe(0);
  });

  it('takes permit, then connection, then candidates, and gives them back', async () => {
    bench.ready = ['a'];
    const pop = bench.pop();
    await bench.answer();
    await pop;
    expect(bench.trail).toEqual(['permit', 'connection', 'check-out', 'connection back', 'permit back']);
  });

  it('asks the cheaper procedure for a lone pop', async () => {
    bench.ready = ['a'];
    const pop = bench.pop();
    await bench.answer();
    expect(namesOf(await pop)).toEqual(['a']);
    expect(bench.procedures).toEqual(['log_pop_list_v1']);
  });

  it('gathers what comes while one is under way; nobody waits for more than it', async () => {
    bench.ready = ['a', 'b', 'c'];
    const first = bench.pop();
    await turn();
    const others = [bench.pop(), bench.pop()];
    await turn();
    expect(bench.sent).toEqual([[['a']]]);
    await bench.answer();
    expect(namesOf(await first)).toEqual(['a']);
    await bench.answer();
    expect((await Promise.all(others)).map(namesOf)).toEqual([['b'], ['c']]);
    expect(bench.sent[1]).toEqual([['b'], ['c']]);
  });

  it('costs no connection when the work is gone by the time of its turn', async () => {
    const pops = [bench.pop('', undefined, () => true), bench.pop('', undefined, () => true)];
    expect(await Promise.all(pops)).toEqual([[], []]);
    await turn();
    expect(bench.trail).toEqual(['permit', 'permit back']);
  });

  it('answers nothing to the one that finds the ring empty, and serves the other', async () => {
    bench.ready = ['a'];
    const pops = [bench.pop(), bench.pop()];
    await bench.answer();
    expect((await Promise.all(pops)).map(namesOf)).toEqual([['a'], []]);
  });

  it('asks again when all candidates were in vain and others are ready, up to as many as one pop may ask for', async () => {
    bench.ready = ['a', 'b', 'c', 'd', 'e'];
    const pop = bench.pop();
    for (let i = 0; i < 4; i++) await bench.answer(() => 'leased');
    expect(await pop).toEqual([]);
    expect(bench.sent.flat(2)).toEqual(['a', 'b', 'c', 'd']);
  });

  it('takes a pop along again that was not looked at', async () => {
    bench.ready = ['a', 'b'];
    const pops = [bench.pop(), bench.pop()];
    await bench.answer((name) => (name === 'b' ? 'unseen' : 'took'));
    expect(namesOf(await pops[0])).toEqual(['a']);
    await bench.answer();
    expect(namesOf(await pops[1])).toEqual(['b']);
  });

  it('lets a client leave while it waits: it takes no candidates', async () => {
    bench.ready = ['a', 'b'];
    const client = new AbortController();
    const first = bench.pop();
    await turn();
    const gone = bench.pop('batch=1', client);
    client.abort();
    await expect(gone).rejects.toThrow('the client is gone');
    await bench.answer();
    await first;
    expect(bench.sent).toHaveLength(1);
    expect(bench.ready).toEqual(['b']);
  });

  it('lets a client leave while its claim is under way: the candidates come back by their verdicts', async () => {
    bench.ready = ['a', 'b'];
    const client = new AbortController();
    const gone = bench.pop('batch=1', client);
    const other = bench.pop();
    await turn();
    client.abort();
    await expect(gone).rejects.toThrow('the client is gone');
    await bench.answer();
    expect(namesOf(await other)).toEqual(['b']);
    expect(bench.out).toBe(0);
    expect(bench.ready).toEqual([]);
    expect(bench.flusher.stats()).toMatchObject({ abandoned: 1, waiting: 0, inFlight: 0 });
  });

  it('fails only the pop that PostgreSQL refuses', async () => {
    bench.ready = ['a', 'bad', 'c'];
    const pops = [bench.pop(), bench.pop(), bench.pop()];
    const refusal = new SqlStatementError('XX001', 'damaged', undefined);
    await bench.refuse(refusal);
    await bench.answer();
    await bench.refuse(refusal);
    await bench.answer();
    expect(namesOf(await pops[0])).toEqual(['a']);
    await expect(pops[1]).rejects.toBe(refusal);
    expect(namesOf(await pops[2])).toEqual(['c']);
    expect(bench.ready).toEqual(['bad']);
    expect(bench.out).toBe(0);
  });

  it('tries a deadlock again, quietly', async () => {
    bench.ready = ['a', 'b'];
    const pops = [bench.pop(), bench.pop()];
    await bench.refuse(new SqlStatementError('40P01', 'deadlock', undefined));
    await bench.answer();
    expect((await Promise.all(pops)).map(namesOf)).toEqual([['a'], ['b']]);
  });

  it('fails all of them when the time runs out, puts the candidates back, and lets pops claim alone for a minute', async () => {
    bench.ready = ['a', 'slow'];
    const pops = [bench.pop(), bench.pop()];
    await bench.refuse(new BrokerError('statement_timeout'));
    for (const pop of pops) await expect(pop).rejects.toMatchObject({ code: 'statement_timeout' });
    expect(bench.ready).toEqual(['a', 'slow']);
    expect(bench).toMatchObject({ timeouts: 1, out: 0, held: { permit: 0, connection: 0 } });
    expect(bench.flusher.isOpen).toBe(false);
    bench.clock.advance(60_000);
    expect(bench.flusher.isOpen).toBe(true);
  });

  it('stays open when it was one pop alone that took too long', async () => {
    bench.ready = ['slow'];
    const pop = bench.pop();
    await bench.refuse(new BrokerError('statement_timeout'));
    await expect(pop).rejects.toMatchObject({ code: 'statement_timeout' });
    expect(bench.flusher.isOpen).toBe(true);
  });

  it('passes on to those whose turn it was that there is no permit', async () => {
    bench.noPermit = new BrokerError('overloaded');
    const pop = bench.pop();
    await expect(pop).rejects.toMatchObject({ code: 'overloaded' });
    expect(bench.clock.pendingTimers).toBe(0);
  });

  it('ends a wait at the deadline of the pop, or when the lane has no more patience', async () => {
    bench.ready = ['a', 'b', 'c'];
    void bench.pop();
    await turn();
    const patient = bench.pop();
    const hasty = bench.pop('batch=1', undefined, undefined, 100);
    bench.clock.advance(100);
    await expect(hasty).rejects.toThrow('no permit came free within the time the caller had');
    bench.clock.advance(5000);
    await expect(patient).rejects.toMatchObject({ code: 'overloaded' });
    await bench.answer();
    expect(bench.sent).toHaveLength(1);
  });

  it('takes one along whose time is just up, unless it had to wait for another statement', async () => {
    bench.ready = ['a', 'b'];
    const held = bench.pop('batch=1', undefined, undefined, 0);
    bench.clock.advance(1);
    await bench.answer();
    expect(await held).toHaveLength(1);

    bench.ready = ['a'];
    void bench.pop();
    await turn();
    await expect(bench.pop('batch=1', undefined, undefined, 0)).rejects.toThrow('no permit came free');
    await bench.answer();
  });

  it('does not let the clock end a claim that is under way', async () => {
    bench.ready = ['a'];
    const pop = bench.pop('batch=1', undefined, undefined, 100);
    await turn();
    bench.clock.advance(200);
    await bench.answer();
    expect(namesOf(await pop)).toEqual(['a']);
  });

  it('keeps a bounded number of them waiting', async () => {
    bench.ready = ['a'];
    void bench.pop();
    await turn();
    for (let i = 0; i < 3; i++) void bench.pop();
    await expect(bench.pop()).rejects.toMatchObject({ code: 'overloaded' });
    await bench.answer();
  });

  it('is closed when it is switched off', () => {
    expect(bench.make(false).isOpen).toBe(false);
  });
});
