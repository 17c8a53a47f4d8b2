import { describe, expect, it } from '@jest/globals';
import { QueueEvents } from './queue-events.js';

const orders = { tenant: 't', queue: 'orders', key: 't\u001forders' };

describe('QueueEvents', () => {
  it('tells every listener of its kind at once, and nobody else', () => {
    const events = new QueueEvents();
    const heard: string[] = [];
    events.onQueueDropped(({ queue }) => heard.push(`dropped ${queue}`));
    events.onQueueDropped(({ key }) => heard.push(`dropped ${key}`));
    events.onQueueConfigured(({ minPopWaitMs }) => heard.push(`configured ${minPopWaitMs}`));
    events.onGroupForgotten(({ group }) => heard.push(`forgot ${group}`));

    events.queueDropped(orders);
    expect(heard).toEqual(['dropped orders', 'dropped t\u001forders']);
    events.queueConfigured({ ...orders, minPopWaitMs: 5 });
    events.groupForgot({ ...orders, group: 'g' });
    expect(heard.slice(2)).toEqual(['configured 5', 'forgot g']);
  });

  it('tells a listener no more once it is taken off', () => {
    const events = new QueueEvents();
    let calls = 0;
    const off = events.onQueueDropped(() => (calls += 1));
    events.queueDropped(orders);
    off();
    events.queueDropped(orders);
    expect(calls).toBe(1);
  });
});
