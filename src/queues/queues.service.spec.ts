import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { BrokerError } from '../base/errors/broker-error.js';
import { QueueEvents } from '../base/queue-events.js';
import type { HotlistService } from '../hotlist/hotlist.service.js';
import type { QueueConfigService } from '../queue-config/queue-config.service.js';
import type { Procedure } from '../raw-sql/procedure.js';
import type { QueueEncryption } from '../encryption/queue-encryption.js';
import type { QueueControls } from '../queue-controls/queue-controls.service.js';
import type { RawSqlService } from '../raw-sql/raw-sql.service.js';
import { SqlStatementError } from '../raw-sql/sql-failure.js';
import type { WakeGateService } from '../wake-gate/wake-gate.service.js';
import { QueuesService } from './queues.service.js';

Logger.overrideLogger(false);

const KEY = 't\u001forders';
const config = { delayedMs: 0, windowMs: 2000, minPopWaitMs: 50 };
const configured = { configured: true, queue: 'orders', options: { windowBuffer: 2 } };

let steps: unknown[][];
let answer: (name: string) => Promise<unknown>;
let readBack: () => Promise<unknown>;
let events: QueueEvents;
let service: QueuesService;
let encryptionReads: number;

beforeEach(() => {
  steps = [];
  encryptionReads = 0;
  answer = () => Promise.resolve(configured);
  readBack = () => Promise.resolve(config);
  events = new QueueEvents();
  events.onQueueDropped(({ key }) => steps.push(['dropped', key]));
  events.onQueueConfigured(({ key, minPopWaitMs }) => steps.push(['configured', key, minPopWaitMs]));
  service = new QueuesService(
    {
      callOne: (procedure: Procedure<unknown, unknown>, args: unknown) => {
        steps.push([procedure.name, args]);
        return answer(procedure.name);
      },
    } as unknown as RawSqlService,
    {
      forget: (...args: unknown[]) => steps.push(['forget', ...args]),
      get: (...args: unknown[]) => {
        steps.push(['get', ...args]);
        return readBack();
      },
    } as unknown as QueueConfigService,
    {
      setConfig: (...args: unknown[]) => steps.push(['setConfig', ...args]),
      dropQueue: (...args: unknown[]) => steps.push(['dropQueue', ...args]),
    } as unknown as HotlistService,
    { open: (...args: unknown[]) => steps.push(['open', ...args]) } as unknown as WakeGateService,
    events,
    { refreshAfterChange: () => Promise.resolve() } as unknown as QueueControls,
    {
      hasKey: false,
      refreshAfterChange: () => {
        encryptionReads += 1;
        return Promise.resolve();
      },
    } as unknown as QueueEncryption,
  );
});

describe('configure', () => {
  const request = { queue: 'orders', options: { windowBuffer: 2 } };

  it('makes memory agree with the database, and only then wakes the parked pops', async () => {
    expect(await service.configure('t', request)).toBe(configured);
    expect(steps).toEqual([
      ['configure_queue_v1', { tenant: 't', ...request }],
      ['forget', 't', 'orders'],
      ['get', 't', 'orders'],
      ['setConfig', KEY, config],
      ['configured', KEY, 50],
      ['open', KEY],
    ]);
  });

  it('answers with what was committed when the settings cannot be read back', async () => {
    readBack = () => Promise.reject(new BrokerError('pool', 'pool'));
    expect(await service.configure('t', request)).toBe(configured);
    expect(steps.map(([step]) => step)).toEqual(['configure_queue_v1', 'forget', 'get', 'open']);
  });

  it('reads which queues are encrypted before it answers, and warns when there is no key for them', async () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    await service.configure('t', request);
    expect([encryptionReads, warn.mock.calls]).toEqual([1, []]);
    answer = () => Promise.resolve({ ...configured, options: { encryptionEnabled: true } });
    await service.configure('t', { queue: 'orders', options: { encryptionEnabled: true } });
    expect(encryptionReads).toBe(2);
    expect(warn.mock.calls).toEqual([[expect.stringContaining('without QUEEN_ENCRYPTION_KEY')]]);
    warn.mockRestore();
  });

  it('says which option was refused, in the words of the database', async () => {
    answer = () => Promise.reject(new SqlStatementError('QCONF', 'QCONF: option "ttls" is unknown', null));
    await expect(service.configure('t', request)).rejects.toMatchObject({
      code: 'bad_option',
      status: 400,
      message: 'option "ttls" is unknown',
    });
    expect(steps).toHaveLength(1);
  });

  it('passes on other failures as they are', async () => {
    answer = () => Promise.reject(new SqlStatementError('XX000', 'QCONF: not from us', null));
    await expect(service.configure('t', request)).rejects.toMatchObject({ code: 'sql_failed' });
    answer = () => Promise.reject(new BrokerError('pool', 'pool'));
    await expect(service.configure('t', request)).rejects.toMatchObject({ code: 'pool' });
  });
});

describe('delete', () => {
  it('forgets everything about the queue before the ring wakes its pops', async () => {
    const deleted = { deleted: true, queue: 'orders', existed: true };
    answer = () => Promise.resolve(deleted);
    expect(await service.delete('t', 'orders')).toBe(deleted);
    expect(steps).toEqual([
      ['delete_queue_v1', { tenant: 't', queue: 'orders' }],
      ['forget', 't', 'orders'],
      ['dropped', KEY],
      ['dropQueue', KEY],
    ]);
  });

  it('forgets also a queue that somebody else had deleted already', async () => {
    answer = () => Promise.resolve({ deleted: false, queue: 'orders', existed: false, message: 'not found' });
    await service.delete('t', 'orders');
    expect(steps.map(([step]) => step)).toEqual(['delete_queue_v1', 'forget', 'dropped', 'dropQueue']);
  });

  it('tries again after a deadlock, five times in all', async () => {
    let failures = 4;
    answer = () =>
      failures-- > 0
        ? Promise.reject(new SqlStatementError('40P01', 'deadlock', null))
        : Promise.resolve({ deleted: true });
    await service.delete('t', 'orders');
    failures = 5;
    await expect(service.delete('t', 'orders')).rejects.toMatchObject({ code: 'sql_failed' });
  });

  it('forgets nothing when the delete failed', async () => {
    answer = () => Promise.reject(new BrokerError('pool', 'pool'));
    await expect(service.delete('t', 'orders')).rejects.toMatchObject({ code: 'pool' });
    expect(steps).toHaveLength(1);
  });
});
