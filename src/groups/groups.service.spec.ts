import { beforeEach, describe, expect, it } from '@jest/globals';
import { parseEnvironment } from '../base/config/environment.js';
import { BrokerError } from '../base/errors/broker-error.js';
import { QueueEvents } from '../base/queue-events.js';
import { Reconcile } from '../base/reconcile.js';
import type { HotlistService } from '../hotlist/hotlist.service.js';
import type { LimiterService } from '../limiter/limiter.service.js';
import type { Procedure } from '../raw-sql/procedure.js';
import type { RawSqlService } from '../raw-sql/raw-sql.service.js';
import { SqlStatementError } from '../raw-sql/sql-failure.js';
import type { WakeGateService } from '../wake-gate/wake-gate.service.js';
import { GroupMemory } from './group-memory.js';
import { GroupRepairsLoop } from './group-repairs.loop.js';
import type { Repair } from './groups.procedures.js';
import { GroupsService } from './groups.service.js';

const KEY = 't\u001forders';
const target = { tenant: 't', group: 'g', queue: 'orders', partition: null };
const toEnd = { toEnd: true, timestamp: null, dryRun: false };

let steps: unknown[][];
let answer: (name: string) => unknown;
let repairs: Repair[];
let service: GroupsService;
let loop: GroupRepairsLoop;

beforeEach(() => {
  steps = [];
  repairs = [];
  answer = () => ({ success: true });
  const note =
    (name: string) =>
    (...args: unknown[]) =>
      void steps.push([name, ...args]);
  const events = new QueueEvents();
  events.onGroupForgotten(({ key, group }) => steps.push(['forgotten', key, group]));
  const memory = new GroupMemory(
    {
      forgetGroup: note('forgetGroup'),
      offer: note('offer'),
      promote: note('promote'),
    } as unknown as HotlistService,
    { open: note('open') } as unknown as WakeGateService,
    events,
  );
  const rawSql = {
    callOne: async ({ name }: Procedure<unknown, unknown>) => {
      steps.push([name]);
      return answer(name);
    },
    call: () => Promise.resolve(repairs),
  } as unknown as RawSqlService;
  service = new GroupsService(rawSql, memory, new Reconcile());
  loop = new GroupRepairsLoop(
    rawSql,
    {
      withPermit: (_: string, __: null, run: () => Promise<unknown>) => run(),
    } as unknown as LimiterService,
    memory,
    new Reconcile(),
    parseEnvironment({}),
  );
});

const forgot = [
  ['forgotten', KEY, 'g'],
  ['forgetGroup', KEY, 'g'],
  ['open', KEY],
];

describe('a seek', () => {
  it('of a queue begins with a cold ring, and only then wakes', async () => {
    await service.seek(target, toEnd);
    expect(steps).toEqual([['log_seek_consumer_group_v1'], ['forgetGroup', KEY, 'g'], ['open', KEY]]);
  });

  it('of a partition marks that one, and ends its rest', async () => {
    await service.seek({ ...target, partition: 'p' }, toEnd);
    expect(steps).toEqual([
      ['log_seek_partition_v1'],
      ['offer', KEY, 'p', 1, { group: 'g', immediate: true, broadcast: true }],
      ['promote', KEY, 'g', { name: 'p' }, false],
    ]);
  });

  it('that found nothing to move leaves memory alone', async () => {
    answer = () => ({ success: false, error: 'Partition not found', queueName: 'orders' });
    await expect(service.seek(target, toEnd)).rejects.toMatchObject({
      ...{ code: 'not_found', status: 404, message: 'Partition not found' },
      extra: { success: false, queueName: 'orders' },
    });
    expect(steps).toHaveLength(1);
  });

  it('as a dry run asks and moves nothing', async () => {
    answer = () => ({ partitions: 2, messagesSkipped: 3, messagesReplayed: 0 });
    const request = { toEnd: false, timestamp: '2026-01-02T03:04:05.678901Z', dryRun: true };
    expect(await service.seek(target, request)).toEqual({
      ...{ success: true, consumerGroup: 'g', queueName: 'orders', seekToEnd: false },
      ...{ targetTimestamp: '2026-01-02T03:04:05.678Z', partitionsUpdated: 0, dryRun: true },
      ...{ partitions: 2, messagesSkipped: 3, messagesReplayed: 0 },
    });
    expect(steps).toEqual([['log_seek_preview_v1']]);
  });

  it('is tried again after a deadlock, five times in all', async () => {
    let failures = 4;
    answer = () => {
      if (failures-- > 0) throw new SqlStatementError('40P01', 'deadlock', null);
      return { success: true };
    };
    await service.seek(target, toEnd);
    failures = 5;
    await expect(service.seek(target, toEnd)).rejects.toMatchObject({ code: 'sql_failed' });
  });

  it('whose outcome is not known leaves memory alone: its notice would tell', async () => {
    answer = () => {
      throw new BrokerError('database_unavailable');
    };
    await expect(service.seek(target, toEnd)).rejects.toMatchObject({ code: 'database_unavailable' });
    expect(steps).toHaveLength(1);
  });
});

describe('a deleted group', () => {
  it('is forgotten in every queue it was in', async () => {
    answer = () => ({ success: true, deletedPartitions: 3, queues: ['orders', 'others'] });
    const deleted = await service.delete({ tenant: 't', group: 'g', deleteMetadata: true });
    expect(deleted).toEqual({ success: true, deletedPartitions: 3 });
    expect(steps.slice(1)).toEqual([
      ...forgot,
      ...[['forgotten'], ['forgetGroup'], ['open']].map(([step]) =>
        step === 'open' ? [step, 't\u001fothers'] : [step, 't\u001fothers', 'g'],
      ),
    ]);
  });

  it('of one queue is forgotten there, also when there was nothing', async () => {
    answer = () => ({ success: true, deletedPartitions: 0 });
    await service.deleteForQueue({ tenant: 't', group: 'g', queue: 'orders', deleteMetadata: false });
    expect(steps.slice(1)).toEqual(forgot);
  });
});

it('a new subscription time begins with cold rings, and is answered as it was sent', async () => {
  answer = () => ({ success: true, rowsUpdated: 1, newTimestamp: 'normal', queues: ['orders'] });
  const args = { tenant: 't', group: 'g' };
  const updated = await service.subscribeFrom(args, { timestamp: 'normal', asSent: 'as sent' });
  expect(updated).toEqual({ success: true, rowsUpdated: 1, newTimestamp: 'as sent' });
  expect(steps.slice(1)).toEqual([
    ['forgetGroup', KEY, 'g'],
    ['open', KEY],
  ]);
});

describe('the notices of other brokers', () => {
  const notice = (over: Partial<Repair> = {}): Repair => ({
    ...{ tenant: 't', queue: 'orders', group: 'g', partition: null, repairedAt: 1 },
    ...over,
  });

  it('are acted on once, and again when they change', async () => {
    repairs = [notice()];
    await loop.pass();
    expect(steps).toEqual(forgot);
    await loop.pass();
    expect(steps).toEqual(forgot);
    repairs = [notice({ repairedAt: 0 })];
    await loop.pass();
    expect(steps).toEqual([...forgot, ...forgot]);
  });

  it('about a partition mark that one, and are not passed on', async () => {
    repairs = [notice({ partition: 'p' })];
    await loop.pass();
    expect(steps).toEqual([
      ['offer', KEY, 'p', 1, { group: 'g', immediate: true, broadcast: false }],
      ['promote', KEY, 'g', { name: 'p' }, false],
    ]);
  });

  it('are kept apart by tenant, queue and group', async () => {
    repairs = [notice(), notice({ tenant: 'u' }), notice({ queue: 'others' }), notice({ group: 'h' })];
    await loop.pass();
    expect(steps.filter(([step]) => step === 'forgetGroup')).toHaveLength(4);
    await loop.pass();
    expect(steps.filter(([step]) => step === 'forgetGroup')).toHaveLength(4);
  });

  it('that are gone are forgotten, so that the same one later counts again', async () => {
    repairs = [notice()];
    await loop.pass();
    repairs = [];
    await loop.pass();
    repairs = [notice()];
    await loop.pass();
    expect(steps.filter(([step]) => step === 'forgetGroup')).toHaveLength(2);
  });
});
