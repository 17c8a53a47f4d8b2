import { Module } from '@nestjs/common';
import { WakeGateService } from './wake-gate.service.js';
import { WAKE_DEFER, type Defer } from './wake-pump.js';

const defer: Defer = (run) => void setImmediate(run);

/** Needs CLOCK from a global module. */
@Module({
  providers: [WakeGateService, { provide: WAKE_DEFER, useValue: defer }],
  exports: [WakeGateService],
})
export class WakeGateModule {}
