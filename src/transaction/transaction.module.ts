import { Module } from '@nestjs/common';
import { DeadLetter } from '../ack/dead-letter.js';
import { AckRegistryModule } from '../ack-registry/ack-registry.module.js';
import { EncryptionModule } from '../encryption/encryption.module.js';
import { HotlistModule } from '../hotlist/hotlist.module.js';
import { LimiterModule } from '../limiter/limiter.module.js';
import { QueueControlsModule } from '../queue-controls/queue-controls.module.js';
import { AfterCommit } from './after-commit.js';
import { TransactionController } from './transaction.controller.js';
import { TransactionService } from './transaction.service.js';

/** Items, acks and dead letters are read and written by push's and ack's own classes; their services stay apart. */
@Module({
  imports: [AckRegistryModule, HotlistModule, LimiterModule, QueueControlsModule, EncryptionModule],
  controllers: [TransactionController],
  providers: [TransactionService, AfterCommit, DeadLetter],
  exports: [TransactionService],
})
export class TransactionModule {}
