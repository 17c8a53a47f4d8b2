import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Loop } from '../../base/loop/loop.js';
import { splitQueueKey } from '../../base/queue-key.js';
import { HotlistService } from '../../hotlist/hotlist.service.js';
import { ReseedWalker } from './reseed-walker.js';

const PERIOD_MS = 2000;

/** The floor loop: rings whose reseed is due although nobody polled them empty. One walk at a time. */
@Injectable()
export class ReseedFloor implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly loop: Loop;

  constructor(hotlist: HotlistService, walker: ReseedWalker) {
    this.loop = new Loop('reseed floor', PERIOD_MS, async () => {
      for (const { key, group } of hotlist.dueRings()) {
        if (this.loop.isStopping) return;
        await walker.walk({ ...splitQueueKey(key), key, group });
      }
    });
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.loop.stop();
  }
}
