import { Module } from '@nestjs/common';
import { environmentConfig } from '../base/config/environment.js';
import { HotlistModule } from '../hotlist/hotlist.module.js';
import { LimiterModule } from '../limiter/limiter.module.js';
import { BundleSender } from './flush/bundle-sender.js';
import { Flusher } from './flush/flusher.js';
import { Originals } from './flush/originals.js';
import { PushController } from './push.controller.js';
import { PUSH_OPTIONS, pushOptions } from './push.options.js';
import { PushService } from './push.service.js';

@Module({
  imports: [LimiterModule, HotlistModule],
  controllers: [PushController],
  providers: [
    { provide: PUSH_OPTIONS, inject: [environmentConfig.KEY], useFactory: pushOptions },
    BundleSender,
    Originals,
    Flusher,
    PushService,
  ],
  exports: [PushService],
})
export class PushModule {}
