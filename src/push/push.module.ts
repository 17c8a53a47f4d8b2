import { Module } from '@nestjs/common';
import { environmentConfig } from '../base/config/environment.js';
import { PushReplay } from '../base/spool/push-spool.js';
import { EncryptionModule } from '../encryption/encryption.module.js';
import { HotlistModule } from '../hotlist/hotlist.module.js';
import { LimiterModule } from '../limiter/limiter.module.js';
import { QueueControlsModule } from '../queue-controls/queue-controls.module.js';
import { DedupIndexes } from './dedup/dedup-indexes.js';
import { DEDUP_OPTIONS, dedupOptions } from './dedup/dedup.options.js';
import { HashReader } from './dedup/hash-reader.js';
import { BundleSender } from './flush/bundle-sender.js';
import { Divert } from './flush/divert.js';
import { Flusher } from './flush/flusher.js';
import { Originals } from './flush/originals.js';
import { FlusherReplay } from './push-replay.js';
import { PushController } from './push.controller.js';
import { PUSH_OPTIONS, pushOptions } from './push.options.js';
import { PushService } from './push.service.js';

@Module({
  imports: [LimiterModule, HotlistModule, QueueControlsModule, EncryptionModule],
  controllers: [PushController],
  providers: [
    { provide: PUSH_OPTIONS, inject: [environmentConfig.KEY], useFactory: pushOptions },
    { provide: DEDUP_OPTIONS, inject: [environmentConfig.KEY], useFactory: dedupOptions },
    BundleSender,
    Originals,
    HashReader,
    DedupIndexes,
    Divert,
    Flusher,
    { provide: PushReplay, useClass: FlusherReplay },
    PushService,
  ],
  exports: [PushService, DedupIndexes],
})
export class PushModule {}
