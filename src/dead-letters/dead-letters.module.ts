import { Module } from '@nestjs/common';
import { EncryptionModule } from '../encryption/encryption.module.js';
import { HotlistModule } from '../hotlist/hotlist.module.js';
import { QueueControlsModule } from '../queue-controls/queue-controls.module.js';
import { BulkReplayService } from './bulk-replay.service.js';
import { DeadLetterAddressController } from './dead-letter-address.controller.js';
import { DeadLettersController } from './dead-letters.controller.js';
import { DeadLettersService } from './dead-letters.service.js';
import { ReplayService } from './replay.service.js';

@Module({
  imports: [HotlistModule, QueueControlsModule, EncryptionModule],
  controllers: [DeadLettersController, DeadLetterAddressController],
  providers: [DeadLettersService, ReplayService, BulkReplayService],
})
export class DeadLettersModule {}
