import { Global, Module } from '@nestjs/common';
import { BUFFER_REPORT } from '../base/buffer-stats.js';
import { environmentConfig } from '../base/config/environment.js';
import { PushSpool } from '../base/spool/push-spool.js';
import { DISK, realDisk } from './disk.js';
import { DrainLoop } from './drain.loop.js';
import { SPOOL_OPTIONS, spoolOptions } from './spool.options.js';
import { SpoolService } from './spool.service.js';

/** Pushes on disk while the database is away. Global: push knows only what a spool does, not that this is one. */
@Global()
@Module({
  providers: [
    { provide: SPOOL_OPTIONS, inject: [environmentConfig.KEY], useFactory: spoolOptions },
    { provide: DISK, useValue: realDisk },
    SpoolService,
    DrainLoop,
    { provide: PushSpool, useExisting: SpoolService },
    { provide: BUFFER_REPORT, useExisting: SpoolService },
  ],
  exports: [PushSpool, BUFFER_REPORT],
})
export class SpoolModule {}
