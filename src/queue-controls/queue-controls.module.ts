import { Module } from '@nestjs/common';
import { Backlogs } from './backlogs.js';
import { PushAdmission } from './push-admission.js';
import { QueueControls } from './queue-controls.service.js';

@Module({
  providers: [QueueControls, Backlogs, PushAdmission],
  exports: [QueueControls, PushAdmission],
})
export class QueueControlsModule {}
