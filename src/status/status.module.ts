import { Module } from '@nestjs/common';
import { LimiterModule } from '../limiter/limiter.module.js';
import { QueueControlsModule } from '../queue-controls/queue-controls.module.js';
import { Buffers } from './buffers.js';
import { LivenessController } from './liveness.controller.js';
import { QueueCounts } from './queue-counts.js';
import { StatsLoop } from './stats.loop.js';
import { StatusController } from './status.controller.js';
import { StatusService } from './status.service.js';

@Module({
  imports: [LimiterModule, QueueControlsModule],
  controllers: [StatusController, LivenessController],
  providers: [StatusService, QueueCounts, StatsLoop, Buffers],
})
export class StatusModule {}
