import { Global, Module } from '@nestjs/common';
import { QueueEvents } from './queue-events.js';

@Global()
@Module({ providers: [QueueEvents], exports: [QueueEvents] })
export class QueueEventsModule {}
