import { Module } from '@nestjs/common';
import { QueueEventsModule } from '../base/queue-events.module.js';
import { PayloadCipher } from './payload-cipher.js';
import { QueueEncryption } from './queue-encryption.js';

/** Encryption at rest: which queues want it, and the way into and out of an envelope. */
@Module({
  imports: [QueueEventsModule],
  providers: [PayloadCipher, QueueEncryption],
  exports: [PayloadCipher, QueueEncryption],
})
export class EncryptionModule {}
