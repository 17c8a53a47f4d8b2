import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { QueueEvents } from '../base/queue-events.js';
import { queueKey } from '../base/queue-key.js';
import { Reconcile } from '../base/reconcile.js';
import type { RawSqlService } from '../raw-sql/raw-sql.service.js';
import type { EncryptedQueue } from './encryption.procedures.js';
import type { PayloadCipher } from './payload-cipher.js';
import { QueueEncryption } from './queue-encryption.js';

Logger.overrideLogger(false);

const row = (queue: string): EncryptedQueue => ({ tenant: 't', queue });

let rows: EncryptedQueue[] | Error;
let reads: number;
let events: QueueEvents;
let reconcile: Reconcile;
let encryption: QueueEncryption;

function start(hasKey: boolean): void {
  rows = [];
  reads = 0;
  events = new QueueEvents();
  reconcile = new Reconcile();
  const rawSql = {
    call: () => {
      reads += 1;
      return rows instanceof Error ? Promise.reject(rows) : Promise.resolve(rows);
    },
  } as unknown as RawSqlService;
  const cipher = { hasKey, seal: (payload: Buffer) => payload } as unknown as PayloadCipher;
  encryption = new QueueEncryption(rawSql, cipher, events, reconcile);
}

afterEach(() => encryption.onApplicationShutdown());

describe('with a key', () => {
  beforeEach(() => start(true));

  it('only queues that want it are encrypted, once they are known', async () => {
    rows = [row('secret')];
    await encryption.onApplicationBootstrap();
    expect(encryption.isIdle).toBe(false);
    const asked = [
      ['t', 'secret'],
      ['t', 'plain'],
      ['other', 'secret'],
    ] as const;
    expect(asked.map(([tenant, queue]) => encryption.seals(tenant, queue))).toEqual([true, false, false]);
  });

  it('where no queue wants it there is nothing to do', async () => {
    await encryption.onApplicationBootstrap();
    expect([encryption.isIdle, encryption.seals('t', 'secret')]).toEqual([true, false]);
  });

  it('before anything is known all are, and when the database is away the last reading stands', async () => {
    rows = new Error('away');
    await encryption.onApplicationBootstrap();
    expect([encryption.isIdle, encryption.seals('t', 'plain')]).toEqual([false, true]);
    rows = [row('secret')];
    await encryption.refreshAfterChange();
    rows = new Error('away');
    await encryption.refreshAfterChange();
    expect([encryption.seals('t', 'plain'), encryption.seals('t', 'secret')]).toEqual([false, true]);
  });

  it('a change made by another broker is read when it is told of', async () => {
    await encryption.onApplicationBootstrap();
    rows = [row('secret')];
    reconcile.arrived();
    await encryption.refreshAfterChange(); // joins the reading under way, or the one behind it
    expect(encryption.seals('t', 'secret')).toBe(true);
  });

  it('a queue that is gone is not encrypted any more', async () => {
    rows = [row('secret'), row('other')];
    await encryption.onApplicationBootstrap();
    events.queueDropped({ tenant: 't', queue: 'secret', key: queueKey('t', 'secret') });
    expect([encryption.seals('t', 'secret'), encryption.seals('t', 'other')]).toEqual([false, true]);
  });
});

it('without a key nothing is encrypted, and the database is not asked', async () => {
  start(false);
  rows = [row('secret')];
  await encryption.onApplicationBootstrap();
  await encryption.refreshAfterChange();
  expect([encryption.isIdle, encryption.seals('t', 'secret'), reads]).toEqual([true, false, 0]);
});
