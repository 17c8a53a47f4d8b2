import { Module } from '@nestjs/common';
import { AckRegistryModule } from '../ack-registry/ack-registry.module.js';
import { LimiterModule } from '../limiter/limiter.module.js';
import { LeaseController } from './lease.controller.js';
import { LeaseService } from './lease.service.js';

@Module({
  imports: [AckRegistryModule, LimiterModule],
  controllers: [LeaseController],
  providers: [LeaseService],
})
export class LeaseModule {}
