import { Module } from '@nestjs/common';
import { environmentConfig } from '../base/config/environment.js';
import { LimiterModule } from '../limiter/limiter.module.js';
import { Leadership } from './leadership.js';
import { OldestTransaction } from './oldest-transaction.js';
import { RetentionLoop } from './retention.loop.js';
import { RETENTION_OPTIONS, retentionOptions } from './retention.options.js';
import { Sweep } from './sweep.js';

/** Removes what nobody keeps. Without routes: it acts by the rules that configure sets. */
@Module({
  imports: [LimiterModule],
  providers: [
    { provide: RETENTION_OPTIONS, inject: [environmentConfig.KEY], useFactory: retentionOptions },
    Leadership,
    Sweep,
    RetentionLoop,
    OldestTransaction,
  ],
  exports: [RetentionLoop, OldestTransaction],
})
export class RetentionModule {}
