import { Injectable, Logger } from '@nestjs/common';
import { HotlistService } from '../hotlist/hotlist.service.js';
import type { AckGroup } from './ack-group.js';
import { PartitionLocator } from './partition-locator.js';

/**
 * Tells the ring that a lease is over, whatever ended it: completion, nack, retry, dead letter. Without it a nacked
 * batch would rest on the wheel until its old lease had run out.
 */
@Injectable()
export class ReleaseNotice {
  private readonly logger = new Logger(ReleaseNotice.name);
  private failed = 0;

  constructor(
    private readonly locator: PartitionLocator,
    private readonly hotlist: HotlistService,
  ) {}

  /** @param covered the whole batch was completed, so a partition that its claim had drained is done */
  async send({ partitionId, group }: AckGroup, covered: boolean): Promise<void> {
    try {
      const known = await this.locator.find(partitionId);
      if (known) this.hotlist.promote(known.key, group, { name: known.partition }, covered);
    } catch (error) {
      // The ack is committed; what is lost is a wake, which the next look makes up for.
      this.failed += 1;
      this.logger.debug(`partition ${partitionId} is not announced: ${(error as Error).message}`);
    }
  }

  get failures(): number {
    return this.failed;
  }
}
