import { beforeEach, describe, expect, it } from '@jest/globals';
import { QueueEvents } from '../base/queue-events.js';
import { Deadline } from '../base/clock/deadline.js';
import { ManualClock } from '../base/clock/manual-clock.js';
import { queueKey } from '../base/queue-key.js';
import { WakeGateService } from '../wake-gate/wake-gate.service.js';
import { FillWindow, type FillRequest } from './fill-window.js';

const key = queueKey('tenant', 'orders');
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('FillWindow', () => {
  let clock: ManualClock;
  let gates: WakeGateService;
  let events: QueueEvents;
  let fillWindow: FillWindow;
  let minPopWaitMs: number;
  let ready: number;
  let estimates: number;
  let client: AbortController;

  beforeEach(() => {
    clock = new ManualClock();
    gates = new WakeGateService(clock, (run) => setImmediate(run));
    events = new QueueEvents();
    fillWindow = new FillWindow(gates, clock, events);
    minPopWaitMs = 200;
    ready = 3;
    estimates = 0;
    client = new AbortController();
  });

  function hold(
    request: Partial<FillRequest> = {},
    deadline = Deadline.in(clock, 30_000),
  ): { done: boolean; promise: Promise<void> } {
    const whole: FillRequest = { wakeKey: { kind: 'queue', key }, wait: true, batch: 10, ...request };
    const estimate = () => {
      estimates += 1;
      return ready;
    };
    const promise = fillWindow.hold({ estimate }, whole, minPopWaitMs, deadline, client.signal);
    const held = { done: false, promise };
    void promise.then(() => (held.done = true));
    return held;
  }

  async function expectNoHold(held: { promise: Promise<void> }): Promise<void> {
    await held.promise;
    expect(fillWindow.stats()).toEqual({ holds: 0, heldMs: 0 });
    expect(clock.pendingTimers).toBe(0);
    expect(gates.stats().gates).toBe(0);
  }

  it('says that nobody uses it until a queue does, and from then on that somebody might', () => {
    fillWindow.learn(0);
    expect(fillWindow.anyConfigured).toBe(false);
    fillWindow.learn(5);
    fillWindow.learn(0);
    expect(fillWindow.anyConfigured).toBe(true);
  });

  it('knows of a minimum pop wait from the moment it is configured', () => {
    const notice = { tenant: 'tenant', queue: 'orders', key };
    events.queueConfigured({ ...notice, minPopWaitMs: 0 });
    expect(fillWindow.anyConfigured).toBe(false);
    events.queueConfigured({ ...notice, minPopWaitMs: 50 });
    expect(fillWindow.anyConfigured).toBe(true);
  });

  describe('does not hold', () => {
    it('when this queue has no minimum pop wait', async () => {
      minPopWaitMs = 0;
      await expectNoHold(hold());
    });
    it('a pop that does not wait', () => expectNoHold(hold({ wait: false })));
    it('a batch of one, which is not even worth an estimate', async () => {
      await expectNoHold(hold({ batch: 1 }));
      expect(estimates).toBe(0);
    });
    it('on an empty queue', async () => {
      ready = 0;
      await expectNoHold(hold());
    });
    it('when the batch is full already', async () => {
      ready = 10;
      await expectNoHold(hold());
    });
    it('when the size of what is due is unknown', async () => {
      ready = Infinity;
      await expectNoHold(hold());
    });
    it('when no time is left', () => expectNoHold(hold({}, Deadline.in(clock, 0))));
    it('when the client has left', async () => {
      client.abort();
      await expectNoHold(hold());
    });
  });

  describe('ends', () => {
    it('when the batch can be filled, not at the wakes before', async () => {
      const held = hold();
      for (const now of [4, 7, 9]) {
        clock.advance(10);
        ready = now;
        gates.open(key);
        await settled();
        expect(held.done).toBe(false);
      }
      ready = 10;
      clock.advance(10);
      gates.open(key);
      await held.promise;
      expect(fillWindow.stats()).toEqual({ holds: 1, heldMs: 40 });
      expect(gates.stats().gates).toBe(0);
      expect(clock.pendingTimers).toBe(0);
    });

    it('with the window', async () => {
      const held = hold();
      clock.advance(199);
      await settled();
      expect(held.done).toBe(false);
      clock.advance(1);
      await held.promise;
      expect(fillWindow.stats().heldMs).toBe(200);
    });

    it('with the window also under a stream of wakes', async () => {
      const held = hold();
      for (let ms = 0; ms < 200; ms++) {
        gates.open(key);
        await settled();
        expect(held.done).toBe(false);
        clock.advance(1);
      }
      await held.promise;
      expect(fillWindow.stats().heldMs).toBe(200);
    });

    it('with the deadline when that is nearer', async () => {
      const held = hold({}, Deadline.in(clock, 50));
      clock.advance(50);
      await held.promise;
      expect(fillWindow.stats().heldMs).toBe(50);
    });

    it('when others took what was there', async () => {
      const held = hold();
      clock.advance(10);
      ready = 0;
      gates.open(key);
      await held.promise;
      expect(fillWindow.stats().heldMs).toBe(10);
    });

    it('when the client leaves', async () => {
      const held = hold();
      client.abort();
      await held.promise;
      expect(clock.pendingTimers).toBe(0);
    });

    it('when the broker closes', async () => {
      const held = hold();
      gates.closeAll();
      await held.promise;
      expect(clock.pendingTimers).toBe(0);
    });
  });
});
