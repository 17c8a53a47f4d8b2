import { Module } from '@nestjs/common';
import { WakeGateModule } from '../wake-gate/wake-gate.module.js';
import { BufferReplies } from './buffer-replies.js';
import { MaintenanceController } from './maintenance.controller.js';
import { MaintenanceService } from './maintenance.service.js';

@Module({
  imports: [WakeGateModule],
  controllers: [MaintenanceController],
  providers: [MaintenanceService, BufferReplies],
})
export class MaintenanceModule {}
