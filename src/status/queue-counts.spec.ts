import { beforeEach, describe, expect, it } from '@jest/globals';
import type { LimiterService } from '../limiter/limiter.service.js';
import type { Procedure } from '../raw-sql/procedure.js';
import type { RawSqlService } from '../raw-sql/raw-sql.service.js';
import { QueueCounts } from './queue-counts.js';

describe('a run of counting', () => {
  let calls: [string, unknown][];
  let turn: number | null;
  let steps: { visits: number; finished: number; done: boolean }[];
  let counts: QueueCounts;
  let lanes: Set<string>;

  beforeEach(() => {
    calls = [];
    turn = 1_000_000;
    steps = [];
    lanes = new Set();
    const rawSql = {
      callOne: (procedure: Procedure<unknown, unknown>, args: unknown) => {
        calls.push([procedure.name, args]);
        if (procedure.name === 'stats_take_turn_v1') return Promise.resolve(turn);
        if (procedure.name === 'stats_prepare_v1') return Promise.resolve(0);
        return Promise.resolve(steps.shift() ?? { visits: 1, finished: 0, done: false });
      },
    };
    const limiter = {
      withPermit: (lane: string, _gone: null, run: () => unknown) => {
        lanes.add(lane);
        return run();
      },
    };
    counts = new QueueCounts(rawSql as unknown as RawSqlService, limiter as unknown as LimiterService);
  });

  const names = () => calls.map(([name]) => name);

  it("does nothing when the turn is somebody else's", async () => {
    turn = null;
    expect(await counts.count(9000, 20_000)).toEqual({ finished: 0, done: false });
    expect(await counts.weigh(9000, 20_000)).toEqual({ finished: 0, done: false });
    expect(calls).toEqual([
      ['stats_take_turn_v1', { name: 'queue stats', intervalMs: 9000 }],
      ['stats_take_turn_v1', { name: 'queue weights', intervalMs: 9000 }],
    ]);
  });

  it('goes on until everything is counted', async () => {
    steps = [
      { visits: 3, finished: 2, done: false },
      { visits: 2, finished: 2, done: true },
    ];
    expect(await counts.count(9000, 20_000)).toEqual({ finished: 4, done: true });
    expect(names()).toEqual(['stats_take_turn_v1', 'stats_prepare_v1', 'stats_count_v1', 'stats_count_v1']);
    expect(calls[2][1]).toEqual({ budget: 2000, runAt: '1970-01-01T00:00:01.000000Z' });
    expect(lanes).toEqual(new Set(['maintenance']));
  });

  it('ends with its budget, or when it is told to', async () => {
    expect(await counts.count(0, 20_000)).toEqual({ finished: 0, done: false });
    expect(names().filter((name) => name === 'stats_count_v1')).toHaveLength(10);
    calls = [];
    expect(await counts.weigh(0, 20_000, () => calls.length < 3)).toMatchObject({ done: false });
    expect(names()).toEqual(['stats_take_turn_v1', 'stats_weigh_v1', 'stats_weigh_v1']);
  });
});
