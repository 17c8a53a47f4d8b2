import { Injectable } from '@nestjs/common';

export interface QueueNotice {
  readonly tenant: string;
  readonly queue: string;
  /** queueKey(tenant, queue) */
  readonly key: string;
}

/** The settings that act in memory, as they now are. */
export interface QueueConfiguredNotice extends QueueNotice {
  readonly minPopWaitMs: number;
}

export interface GroupNotice extends QueueNotice {
  readonly group: string;
}

export type Listener<T> = (notice: T) => void;

/**
 * What administration did to a queue, for whoever keeps something about it in memory: features do not import each
 * other, and a queue that is made anew under its name must not meet what was known of the old one.
 *
 * Synchronous, after the commit and before the client has its answer. Only for forgetting and learning: order between
 * listeners means nothing, and what must happen in order (ring, then gate) is called directly.
 */
@Injectable()
export class QueueEvents {
  private readonly dropped = new Set<Listener<QueueNotice>>();
  private readonly configured = new Set<Listener<QueueConfiguredNotice>>();
  private readonly groupForgotten = new Set<Listener<GroupNotice>>();

  /** The result takes the listener off again. */
  onQueueDropped(listener: Listener<QueueNotice>): () => void {
    return subscribe(this.dropped, listener);
  }

  onQueueConfigured(listener: Listener<QueueConfiguredNotice>): () => void {
    return subscribe(this.configured, listener);
  }

  /** The group's cursors or its subscription are gone: its next pop is a first contact again. */
  onGroupForgotten(listener: Listener<GroupNotice>): () => void {
    return subscribe(this.groupForgotten, listener);
  }

  queueDropped(notice: QueueNotice): void {
    for (const listener of this.dropped) listener(notice);
  }

  queueConfigured(notice: QueueConfiguredNotice): void {
    for (const listener of this.configured) listener(notice);
  }

  groupForgot(notice: GroupNotice): void {
    for (const listener of this.groupForgotten) listener(notice);
  }
}

function subscribe<T>(listeners: Set<Listener<T>>, listener: Listener<T>): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}
