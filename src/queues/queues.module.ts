import { Module } from '@nestjs/common';
import { QueueEventsModule } from '../base/queue-events.module.js';
import { EncryptionModule } from '../encryption/encryption.module.js';
import { HotlistModule } from '../hotlist/hotlist.module.js';
import { QueueConfigModule } from '../queue-config/queue-config.module.js';
import { QueueControlsModule } from '../queue-controls/queue-controls.module.js';
import { WakeGateModule } from '../wake-gate/wake-gate.module.js';
import { QueuesController } from './queues.controller.js';
import { QueuesService } from './queues.service.js';

@Module({
  imports: [
    QueueEventsModule,
    HotlistModule,
    QueueConfigModule,
    QueueControlsModule,
    EncryptionModule,
    WakeGateModule,
  ],
  controllers: [QueuesController],
  providers: [QueuesService],
})
export class QueuesModule {}
