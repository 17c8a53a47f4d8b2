import { Module } from '@nestjs/common';
import { AckRegistryModule } from '../ack-registry/ack-registry.module.js';
import { environmentConfig } from '../base/config/environment.js';
import { HotlistModule } from '../hotlist/hotlist.module.js';
import { LimiterModule } from '../limiter/limiter.module.js';
import { AckLane } from './ack-lane.js';
import { AckController } from './ack.controller.js';
import { ACK_OPTIONS, ackOptions } from './ack.options.js';
import { AckService } from './ack.service.js';
import { AckByHash } from './by-hash.js';
import { DeadLetter } from './dead-letter.js';
import { AckFlusher } from './flush/ack-flusher.js';
import { HashAckFlusher } from './flush/hash-ack-flusher.js';
import { FullBatchAck } from './full-batch.js';
import { PartitionLocator } from './partition-locator.js';
import { RecentAcks } from './recent-acks.js';
import { ReleaseNotice } from './release-notice.js';

@Module({
  imports: [AckRegistryModule, HotlistModule, LimiterModule],
  controllers: [AckController],
  providers: [
    AckService,
    RecentAcks,
    FullBatchAck,
    AckFlusher,
    AckByHash,
    HashAckFlusher,
    DeadLetter,
    ReleaseNotice,
    PartitionLocator,
    AckLane,
    { provide: ACK_OPTIONS, useFactory: ackOptions, inject: [environmentConfig.KEY] },
  ],
  exports: [AckService, AckFlusher, HashAckFlusher, AckByHash],
})
export class AckModule {}
