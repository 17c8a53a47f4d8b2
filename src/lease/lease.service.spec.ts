import { beforeEach, describe, expect, it } from '@jest/globals';
import { AckRegistry } from '../ack-registry/ack-registry.js';
import { PartitionMemo } from '../ack-registry/partition-memo.js';
import { ManualClock } from '../base/clock/manual-clock.js';
import { BrokerError } from '../base/errors/broker-error.js';
import type { LimiterService } from '../limiter/limiter.service.js';
import type { RawSqlService } from '../raw-sql/raw-sql.service.js';
import { SqlStatementError } from '../raw-sql/sql-failure.js';
import { logRenewLeaseV1, type RenewArgs, type Renewal } from './lease.procedures.js';
import { LeaseService } from './lease.service.js';

const P1 = '00000000-0000-7000-8000-000000000001';
const P2 = '00000000-0000-7000-8000-000000000002';
const renewed: Renewal = { renewed: 1, expiresAt: '2030-01-01T00:00:00.000000Z' };

let clock: ManualClock;
let registry: AckRegistry;
let calls: RenewArgs[];
let lanes: string[];
let answer: () => Promise<Renewal>;
let service: LeaseService;

beforeEach(() => {
  clock = new ManualClock();
  registry = new AckRegistry({ enabled: true, bytesMax: 1e6 }, clock, new PartitionMemo());
  calls = [];
  lanes = [];
  answer = () => Promise.resolve(renewed);
  const rawSql = {
    callOne: (_: unknown, args: RenewArgs) => {
      calls.push(args);
      return answer();
    },
  } as unknown as RawSqlService;
  const limiter = {
    withPermit: (lane: string, _: null, run: () => Promise<unknown>) => {
      lanes.push(lane);
      return run();
    },
  } as unknown as LimiterService;
  service = new LeaseService(registry, limiter, rawSql);
});

function hand(partitionId: string): void {
  registry.register({
    ...{ partitionId, partition: 'eu', key: 'k', group: 'g', worker: 'w1' },
    ...{ batchEnd: 0, messages: 1, hashes: null, leaseMs: 5000 },
  });
}

describe('LeaseService', () => {
  it('names every partition of a lease handed out here, in one call on the ack lane', async () => {
    hand(P1);
    hand(P2);
    expect(await service.extend('w1', 60, null)).toEqual(renewed);
    expect(calls).toEqual([{ worker: 'w1', seconds: 60, owner: null, partitionIds: [P1, P2] }]);
    expect(lanes).toEqual(['ack']);
  });

  it('asks for the partitions of one tenant when it is told which', async () => {
    hand(P1);
    answer = () => Promise.resolve({ renewed: 0, expiresAt: null });
    await service.extend('w1', 60, 'tenant');
    expect(calls).toEqual([{ worker: 'w1', seconds: 60, owner: 'tenant', partitionIds: [P1] }]);
    expect(logRenewLeaseV1.values(calls[0]).at(-1)).toBe('tenant');
  });

  it('leaves the search to the database for a lease of another broker', async () => {
    await service.extend('elsewhere', 60, null);
    expect(calls).toEqual([{ worker: 'elsewhere', seconds: 60, owner: null, partitionIds: null }]);
  });

  it('keeps its own memory of a renewed lease as long as the lease', async () => {
    hand(P1);
    await service.extend('w1', 60, null);
    clock.advance(69_999);
    expect(registry.partitionsOf('w1')).toEqual([P1]);
    clock.advance(1);
    expect(registry.partitionsOf('w1')).toEqual([]);
  });

  it('does not keep a lease in memory that the database did not renew', async () => {
    hand(P1);
    answer = () => Promise.resolve({ renewed: 0, expiresAt: null });
    expect(await service.extend('w1', 60, null)).toEqual({ renewed: 0, expiresAt: null });
    clock.advance(15_000);
    expect(registry.partitionsOf('w1')).toEqual([]);
  });

  it.each(['', 'a\0b', '\ud800'])('asks nobody about %j, which no lease can be', async (worker) => {
    expect(await service.extend(worker, 60, null)).toEqual({ renewed: 0, expiresAt: null });
    expect(calls).toEqual([]);
  });

  it('tries again after a deadlock, and no other failure', async () => {
    const failures: Error[] = [new SqlStatementError('40P01', 'deadlock', null)];
    answer = () => (failures.length > 0 ? Promise.reject(failures.pop()!) : Promise.resolve(renewed));
    expect(await service.extend('w1', 60, null)).toEqual(renewed);
    answer = () => Promise.reject(new BrokerError('pool', 'pool'));
    await expect(service.extend('w1', 60, null)).rejects.toMatchObject({ code: 'pool' });
    expect(calls).toHaveLength(3);
  });

  it('gives up when deadlocks do not end', async () => {
    answer = () => Promise.reject(new SqlStatementError('40P01', 'deadlock', null));
    await expect(service.extend('w1', 60, null)).rejects.toMatchObject({ code: 'sql_failed' });
    expect(calls).toHaveLength(3);
  });
});

describe('logRenewLeaseV1', () => {
  it('passes no list, not an empty one, when the partitions are not known', () => {
    expect(logRenewLeaseV1.values({ worker: 'w', seconds: 5, owner: null, partitionIds: null })).toEqual([
      'w',
      5,
      null,
      null,
    ]);
  });
});
