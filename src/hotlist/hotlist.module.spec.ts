import { Global, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { describe, expect, it } from '@jest/globals';
import { CLOCK } from '../base/clock/clock.js';
import { ManualClock } from '../base/clock/manual-clock.js';
import { WakeGateService } from '../wake-gate/wake-gate.service.js';
import { HotlistModule } from './hotlist.module.js';
import { defaultHotlistOptions, HOTLIST_OPTIONS } from './hotlist.options.js';
import { HotlistService } from './hotlist.service.js';

const clock = new ManualClock();

@Global()
@Module({
  providers: [
    { provide: CLOCK, useValue: clock },
    { provide: HOTLIST_OPTIONS, useValue: defaultHotlistOptions },
  ],
  exports: [CLOCK, HOTLIST_OPTIONS],
})
class EdgesModule {}

describe('HotlistModule', () => {
  it('wakes a parked pop through the wake gate, ticks while it runs, leaves no timer behind', async () => {
    const app = await Test.createTestingModule({ imports: [EdgesModule, HotlistModule] }).compile();
    await app.init();
    const hotlist = app.get(HotlistService);
    const gates = app.get(WakeGateService, { strict: false });
    const key = 't\u001fq';
    hotlist.registerRing(key, 'g');

    const ticket = gates.ticket({ kind: 'queue', key });
    const woken = gates.park(ticket, 30_000, new AbortController().signal, () => !hotlist.hasReady(key, 'g'));
    hotlist.offer(key, 'a', 1);
    expect(await woken).toBe(true);

    const names = hotlist.checkOut(key, 'g', { k: 1, want: 1 });
    names.checkIn([{ partition: 'a', state: 'leased', waitMs: 5000 }], { autoAck: false, leaseMs: 1000 });
    clock.advance(1000);
    expect(hotlist.stats().entries.ready).toBe(1);

    ticket[Symbol.dispose]();
    await app.close();
    expect(clock.pendingTimers).toBe(0);
  });
});
