import { Global, Module } from '@nestjs/common';
import { PopMaintenance, PushMaintenance } from './maintenance-switch.js';

/** Global, because those who obey a switch do not know who sets it. */
@Global()
@Module({ providers: [PopMaintenance, PushMaintenance], exports: [PopMaintenance, PushMaintenance] })
export class MaintenanceSwitchModule {}
