import { Module } from '@nestjs/common';
import { AckRegistryModule } from '../ack-registry/ack-registry.module.js';
import { AckModule } from '../ack/ack.module.js';
import { EncryptionModule } from '../encryption/encryption.module.js';
import { HintsModule } from '../hints/hints.module.js';
import { HotlistModule } from '../hotlist/hotlist.module.js';
import { LimiterModule } from '../limiter/limiter.module.js';
import { PopModule } from '../pop/pop.module.js';
import { PushModule } from '../push/push.module.js';
import { RetentionModule } from '../retention/retention.module.js';
import { WakeGateModule } from '../wake-gate/wake-gate.module.js';
import { Activity } from './activity.js';
import { EventLoop } from './event-loop.js';
import { familySources, metricFamilies } from './families.js';
import { MetricsController } from './metrics.controller.js';
import { MetricsJsonController } from './metrics-json.controller.js';
import { MinutesLoop } from './minutes.loop.js';
import { OwnMetrics } from './own-metrics.js';
import { METRIC_FAMILIES, PrometheusExposition } from './prometheus.exposition.js';

/** Reads what the other modules count; nothing imports it. */
@Module({
  imports: [
    PopModule,
    PushModule,
    AckModule,
    AckRegistryModule,
    HotlistModule,
    LimiterModule,
    WakeGateModule,
    RetentionModule,
    EncryptionModule,
    HintsModule,
  ],
  controllers: [MetricsController, MetricsJsonController],
  providers: [
    EventLoop,
    PrometheusExposition,
    Activity,
    MinutesLoop,
    OwnMetrics,
    { provide: METRIC_FAMILIES, useFactory: metricFamilies, inject: [...familySources] },
  ],
  exports: [PrometheusExposition],
})
export class MetricsModule {}
