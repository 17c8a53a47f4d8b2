import { Global, Module } from '@nestjs/common';
import { QueueEvents } from './queue-events.js';
import { Reconcile } from './reconcile.js';

@Global()
@Module({ providers: [QueueEvents, Reconcile], exports: [QueueEvents, Reconcile] })
export class QueueEventsModule {}
