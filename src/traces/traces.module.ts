import { Module } from '@nestjs/common';
import { TracesController } from './traces.controller.js';
import { TracesService } from './traces.service.js';

@Module({ controllers: [TracesController], providers: [TracesService] })
export class TracesModule {}
