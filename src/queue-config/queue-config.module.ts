import { Module } from '@nestjs/common';
import { QueueConfigService } from './queue-config.service.js';

@Module({ providers: [QueueConfigService], exports: [QueueConfigService] })
export class QueueConfigModule {}
