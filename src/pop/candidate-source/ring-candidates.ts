import { Inject, Injectable } from '@nestjs/common';
import type { Checkout } from '../../hotlist/checkout.js';
import { candidateCount, HOTLIST_OPTIONS, type HotlistOptions } from '../../hotlist/hotlist.options.js';
import { HotlistService } from '../../hotlist/hotlist.service.js';
import type { Verdict } from '../../hotlist/verdict.js';
import { QueueConfigService } from '../../queue-config/queue-config.service.js';
import type { PopRequest } from '../pop.request.js';

/** Lease length assumed while the queue's settings are unknown; only schedules a second look. */
const LEASE_SECONDS_FALLBACK = 60;

/** How a pop takes its candidates out of the ring, and how they come back. */
@Injectable()
export class RingCandidates {
  constructor(
    private readonly hotlist: HotlistService,
    private readonly queueConfig: QueueConfigService,
    @Inject(HOTLIST_OPTIONS) private readonly options: HotlistOptions,
  ) {}

  /** Candidates that one pop may ask for, whether or not they turn out to be in vain. */
  most({ partitions }: PopRequest): number {
    return candidateCount(partitions, this.options);
  }

  /** Up to `most` of them; hold with `using`, or they stay out until the ticket is given up. */
  checkOut({ key, group, batch }: PopRequest, most: number): Checkout {
    return this.hotlist.checkOut(key, group, { k: most, want: batch });
  }

  checkIn(names: Checkout, request: PopRequest, verdicts: readonly Verdict[]): void {
    const leaseSeconds =
      request.leaseSeconds ??
      this.queueConfig.peek(request.tenant, request.queue)?.leaseSeconds ??
      LEASE_SECONDS_FALLBACK;
    names.checkIn(verdicts, { autoAck: request.autoAck, leaseMs: leaseSeconds * 1000 });
  }

  /** With the hold known here the revisit wheel is its only authority; otherwise SQL's debounce is the safe floor. */
  skipsWindow({ key }: PopRequest): boolean {
    return (this.hotlist.config(key)?.windowMs ?? 0) > 0;
  }

  hasReady({ key, group }: PopRequest): boolean {
    return this.hotlist.hasReady(key, group);
  }
}
