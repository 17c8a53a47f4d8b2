import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { QueueEvents } from '../base/queue-events.js';
import { Reconcile } from '../base/reconcile.js';
import { queueKey } from '../base/queue-key.js';
import type { RawSqlService } from '../raw-sql/raw-sql.service.js';
import type { Backlogs } from './backlogs.js';
import type { QueueControlRow } from './queue-controls.procedures.js';
import { QueueControls } from './queue-controls.service.js';

Logger.overrideLogger(false);

const KEY = queueKey('t', 'q');
const row = (queue: string, more: Partial<QueueControlRow> = {}): QueueControlRow => ({
  ...{ tenant: 't', queue, popsPaused: false, pushesPaused: false, maxSize: 0, ...more },
});

describe('the queue controls', () => {
  let rows: QueueControlRow[] | Error;
  let events: QueueEvents;
  let controls: QueueControls;
  let resumed: string[];
  let forgotten: string[];
  let news: Reconcile;
  let reads: number;

  beforeEach(async () => {
    rows = [];
    events = new QueueEvents();
    resumed = [];
    forgotten = [];
    news = new Reconcile();
    reads = 0;
    const rawSql = {
      call: () => (reads++, rows instanceof Error ? Promise.reject(rows) : Promise.resolve(rows)),
    } as unknown as RawSqlService;
    const backlogs = { forget: (key: string) => void forgotten.push(key) } as unknown as Backlogs;
    controls = new QueueControls(rawSql, backlogs, events, news);
    controls.onPopsResumed((key) => resumed.push(key));
    await controls.onApplicationBootstrap();
  });

  afterEach(() => controls.onApplicationShutdown());

  it('are known after the start, and none is the rule', async () => {
    expect(controls.areNone).toBe(true);
    rows = [row('q', { popsPaused: true, maxSize: 4 })];
    await controls.refresh();
    expect([controls.areNone, controls.popsArePaused(KEY), controls.find(KEY)?.maxSize]).toEqual([
      false,
      true,
      4,
    ]);
    expect(controls.popsArePaused(queueKey('t', 'other'))).toBe(false);
    expect(controls.popsArePaused('')).toBe(false);
  });

  it('tell of each queue whose pops go on, and only then', async () => {
    rows = [row('q', { popsPaused: true }), row('r', { popsPaused: true }), row('s', { pushesPaused: true })];
    await controls.refresh();
    expect(resumed).toEqual([]);
    rows = [row('q', { popsPaused: false, maxSize: 1 }), row('r', { popsPaused: true })];
    await controls.refresh();
    expect(resumed).toEqual([KEY]);
  });

  it('stay as they are while the database is away', async () => {
    rows = [row('q', { pushesPaused: true })];
    await controls.refresh();
    rows = new Error('away');
    await controls.refreshAfterChange();
    await expect(controls.refresh()).rejects.toThrow('away');
    expect(controls.find(KEY)?.pushesPaused).toBe(true);
  });

  it('are read when news arrive, also where they were read a moment ago', async () => {
    news.carriedBy(() => true);
    rows = [row('q', { pushesPaused: true })];
    news.arrived();
    await controls.refresh(); // comes after the reading that the news began
    expect(controls.find(KEY)?.pushesPaused).toBe(true);
    expect(reads).toBe(3);
  });

  it('of a queue end with it, at once', async () => {
    rows = [row('q', { pushesPaused: true })];
    await controls.refresh();
    rows = [];
    events.queueDropped({ tenant: 't', queue: 'q', key: KEY });
    expect([controls.find(KEY), forgotten]).toEqual([undefined, [KEY]]);
  });

  it('of a deleted queue do not come back with a reading that began before', async () => {
    rows = [row('q', { pushesPaused: true })];
    await controls.refresh();
    const reading = controls.refresh();
    events.queueDropped({ tenant: 't', queue: 'q', key: KEY });
    rows = [];
    await reading;
    await controls.refresh();
    expect(controls.find(KEY)).toBeUndefined();
  });
});
