import { beforeEach, describe, expect, it } from '@jest/globals';
import { ManualClock } from '../base/clock/manual-clock.js';
import type { GroupMetrics, ProcessMetrics } from '../base/worker-group/worker-group.js';
import type { DatabaseOptions } from '../raw-sql/database-options.js';
import { joinNumbers } from './join-metrics.js';
import type { FromWorker, ToWorker } from './messages.js';
import { PrimaryLink } from './primary-link.js';

const database = { poolSize: 4 } as DatabaseOptions;
const numbers = joinNumbers([]);

let clock: ManualClock;
let sent: FromWorker[];
let drains: string[];
let tell: (message: ToWorker) => void;
let link: PrimaryLink;

beforeEach(() => {
  clock = new ManualClock();
  [sent, drains] = [[], []];
  const channel = {
    send: async (message: FromWorker) => void sent.push(message),
    onMessage: (listener: (message: ToWorker) => void) => (tell = listener),
  };
  link = new PrimaryLink(channel, clock, (reason) => drains.push(reason));
});

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('a worker and its primary process', () => {
  it('is told who it is, and when it may listen', async () => {
    const hello = link.hello();
    tell({ kind: 'assignment', number: 3, database });
    expect(await hello).toEqual({ number: 3, database });
    expect(link.number).toBe(3);
    const prepared = link.prepared();
    tell({ kind: 'listen', port: 7001 });
    expect(await prepared).toBe(7001);
    await link.ready(7001);
    expect(sent.map(({ kind }) => kind)).toEqual(['hello', 'prepared', 'ready']);
  });

  it('leaves when it is told to', () => {
    tell({ kind: 'drain', reason: 'SIGTERM' });
    expect(drains).toEqual(['SIGTERM']);
  });

  it('says what it counted, once there is something that counts', async () => {
    tell({ kind: 'report', id: 1 });
    const own: ProcessMetrics = { families: [], numbers };
    link.answerWith(() => Promise.resolve(own));
    tell({ kind: 'report', id: 2 });
    await settled();
    link.answerWith(() => Promise.reject(new Error('a collector failed')));
    tell({ kind: 'report', id: 3 });
    await settled();
    expect(sent).toEqual([{ kind: 'report', id: 2, metrics: own }]);
  });

  it('gets the metrics of all, each question its own answer', async () => {
    const answers = [link.gather(), link.gather()];
    const named = (exposition: string): GroupMetrics => ({ exposition, numbers });
    tell({ kind: 'gathered', id: 2, metrics: named('second') });
    tell({ kind: 'gathered', id: 1, metrics: named('first') });
    tell({ kind: 'gathered', id: 1, metrics: named('late') });
    expect((await Promise.all(answers)).map(({ exposition }) => exposition)).toEqual(['first', 'second']);
  });

  it('does not wait for ever for a primary process that says nothing', async () => {
    const answer = link.gather();
    clock.advance(10_000);
    await expect(answer).rejects.toMatchObject({ code: 'overloaded' });
  });
});
