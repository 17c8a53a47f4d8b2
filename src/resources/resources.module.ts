import { Module } from '@nestjs/common';
import { ResourcesController } from './resources.controller.js';
import { ResourcesService } from './resources.service.js';

@Module({ controllers: [ResourcesController], providers: [ResourcesService] })
export class ResourcesModule {}
