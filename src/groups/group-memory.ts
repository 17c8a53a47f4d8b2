import { Injectable } from '@nestjs/common';
import { QueueEvents } from '../base/queue-events.js';
import { queueKey } from '../base/queue-key.js';
import { HotlistService } from '../hotlist/hotlist.service.js';
import { WakeGateService } from '../wake-gate/wake-gate.service.js';

/**
 * What this broker must look at afresh after a group's cursors moved without a write: there is no push to mark the
 * partitions, and what is remembered of them (idle, resting until a lease ends) may be wrong now.
 */
@Injectable()
export class GroupMemory {
  constructor(
    private readonly hotlist: HotlistService,
    private readonly gates: WakeGateService,
    private readonly events: QueueEvents,
  ) {}

  /** Any partition of the queue may be pending again: the next pop begins with a cold ring, which owes a full walk. */
  cursorsMoved(tenant: string, queue: string, group: string): void {
    const key = queueKey(tenant, queue);
    this.hotlist.forgetGroup(key, group);
    // Also for pops that use no ring.
    this.gates.open(key);
  }

  /** Cursors or subscription are gone, so the next pop is a first contact. */
  groupForgotten(tenant: string, queue: string, group: string): void {
    this.events.groupForgot({ tenant, queue, key: queueKey(tenant, queue), group });
    this.cursorsMoved(tenant, queue, group);
  }

  /** The partition may be pending again, and whatever lease it rests for is gone. */
  cursorMoved(tenant: string, queue: string, partition: string, group: string, broadcast: boolean): void {
    const key = queueKey(tenant, queue);
    this.hotlist.offer(key, partition, 1, { group, immediate: true, broadcast });
    this.hotlist.promote(key, group, { name: partition }, false);
  }
}
