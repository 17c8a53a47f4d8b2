import { Module } from '@nestjs/common';
import { HotlistModule } from '../hotlist/hotlist.module.js';
import { LimiterModule } from '../limiter/limiter.module.js';
import { WakeGateModule } from '../wake-gate/wake-gate.module.js';
import { GroupMemory } from './group-memory.js';
import { GroupRepairsLoop } from './group-repairs.loop.js';
import { GroupsController } from './groups.controller.js';
import { GroupsService } from './groups.service.js';

@Module({
  imports: [HotlistModule, LimiterModule, WakeGateModule],
  controllers: [GroupsController],
  providers: [GroupsService, GroupMemory, GroupRepairsLoop],
  exports: [GroupRepairsLoop],
})
export class GroupsModule {}
