import { Injectable } from '@nestjs/common';
import { AckRegistry } from '../ack-registry/ack-registry.js';
import type { Fingerprint } from '../ack-registry/fingerprint.js';
import { BrokerError } from '../base/errors/broker-error.js';
import type { AckGroup } from './ack-group.js';
import { FLUSH_FAILED_ERROR } from './ack-result.js';
import { AckFlusher } from './flush/ack-flusher.js';
import type { CursorMove, MoveVerdict } from './flush/cursor-move.js';

/**
 * The fast path: everything that was handed out is completed, so the cursor goes to the batch's end without looking at
 * a single message. Taken only when the registry proves it; PostgreSQL still checks the lease.
 */
@Injectable()
export class FullBatchAck {
  constructor(
    private readonly registry: AckRegistry,
    private readonly flusher: AckFlusher,
  ) {}

  /**
   * True when the batch is completed. False when this is not a full batch, or when its lease is over: the way by hash
   * then says why.
   * @param acked of the group, which holds nothing but completed items of one lease
   * @throws BrokerError when the flush failed; it must not be taken for either, the lease will run out
   */
  async complete(group: AckGroup, acked: Fingerprint): Promise<boolean> {
    const { partitionId, worker } = group;
    const batch = this.registry.take(partitionId, group.group, worker, acked);
    if (!batch) return false;
    const verdict = await this.flush({ partitionId, group: group.group, worker, ...batch });
    if (verdict === 'rejected') return false;
    this.registry.drop(partitionId, group.group, worker);
    return true;
  }

  private async flush(move: CursorMove): Promise<MoveVerdict> {
    try {
      return await this.flusher.move(move);
    } catch (cause) {
      // No connection or no permit: nothing was sent, and the client should hear so.
      if (cause instanceof BrokerError && (cause.code === 'pool' || cause.code === 'overloaded')) throw cause;
      const code = cause instanceof BrokerError ? cause.code : 'internal';
      throw new BrokerError(code, FLUSH_FAILED_ERROR, undefined, { cause });
    }
  }
}
