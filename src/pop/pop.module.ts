import { Module } from '@nestjs/common';
import { AckRegistryModule } from '../ack-registry/ack-registry.module.js';
import { environmentConfig } from '../base/config/environment.js';
import { EncryptionModule } from '../encryption/encryption.module.js';
import { HotlistModule } from '../hotlist/hotlist.module.js';
import { LimiterModule } from '../limiter/limiter.module.js';
import { QueueConfigModule } from '../queue-config/queue-config.module.js';
import { QueueControlsModule } from '../queue-controls/queue-controls.module.js';
import { WakeGateModule } from '../wake-gate/wake-gate.module.js';
import { ChooseSource } from './candidate-source/choose-source.js';
import { DiscoverySource } from './candidate-source/discovery.source.js';
import { PartitionSource } from './candidate-source/partition.source.js';
import { PausedSource } from './candidate-source/paused.source.js';
import { PartitionProbes } from './candidate-source/partition-probes.js';
import { PendingProbes } from './candidate-source/pending-probes.js';
import { ReseedFloor } from './candidate-source/reseed.floor.js';
import { ReseedWalker } from './candidate-source/reseed-walker.js';
import { RingCandidates } from './candidate-source/ring-candidates.js';
import { RingSource } from './candidate-source/ring.source.js';
import { ScanSource } from './candidate-source/scan.source.js';
import { SeedMarkers } from './candidate-source/seed-markers.js';
import { SeedSlices } from './candidate-source/seed-slices.js';
import { FillWindow } from './fill-window.js';
import { CLAIM_FLUSH_OPTIONS, claimFlushOptions } from './flush/claim-flush.options.js';
import { ClaimFlusher } from './flush/claim-flusher.js';
import { ClaimSender } from './flush/claim-sender.js';
import { HandOver } from './hand-over.js';
import { PopController } from './pop.controller.js';
import { PopMetrics } from './pop.metrics.js';
import { PopService } from './pop.service.js';
import { PutAside } from './put-aside.js';

/** The serve path: one collaborator a step. A further way to find candidates is one more file in candidate-source. */
@Module({
  imports: [
    HotlistModule,
    AckRegistryModule,
    LimiterModule,
    WakeGateModule,
    QueueConfigModule,
    QueueControlsModule,
    EncryptionModule,
  ],
  controllers: [PopController],
  providers: [
    PopService,
    PopMetrics,
    ChooseSource,
    RingCandidates,
    RingSource,
    ScanSource,
    PartitionSource,
    DiscoverySource,
    PausedSource,
    PartitionProbes,
    PendingProbes,
    SeedMarkers,
    SeedSlices,
    ReseedWalker,
    ReseedFloor,
    { provide: CLAIM_FLUSH_OPTIONS, inject: [environmentConfig.KEY], useFactory: claimFlushOptions },
    ClaimSender,
    ClaimFlusher,
    FillWindow,
    HandOver,
    PutAside,
  ],
  exports: [PopMetrics, FillWindow, PutAside, ClaimFlusher],
})
export class PopModule {}
