import { Module } from '@nestjs/common';
import { HotlistModule } from '../hotlist/hotlist.module.js';
import { QueueControlsModule } from '../queue-controls/queue-controls.module.js';
import { WakeGateModule } from '../wake-gate/wake-gate.module.js';
import { PauseController } from './pause.controller.js';
import { PauseService } from './pause.service.js';

@Module({
  imports: [QueueControlsModule, HotlistModule, WakeGateModule],
  controllers: [PauseController],
  providers: [PauseService],
})
export class PauseModule {}
