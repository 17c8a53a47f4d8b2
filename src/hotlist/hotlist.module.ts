import { Module } from '@nestjs/common';
import { WakeGateModule } from '../wake-gate/wake-gate.module.js';
import { WakeGateService } from '../wake-gate/wake-gate.service.js';
import { HotlistService } from './hotlist.service.js';
import { RevisitTicker } from './revisit.ticker.js';
import { WAKER } from './waker.js';

/** Needs HOTLIST_OPTIONS and CLOCK from global modules; HINT_SINK, where brokers tell each other, too. */
@Module({
  imports: [WakeGateModule],
  providers: [HotlistService, RevisitTicker, { provide: WAKER, useExisting: WakeGateService }],
  exports: [HotlistService],
})
export class HotlistModule {}
