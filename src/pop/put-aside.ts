import { Injectable } from '@nestjs/common';
import { SampledLogger } from '../base/log/sampled-logger.js';
import { queueKey } from '../base/queue-key.js';
import { HotlistService } from '../hotlist/hotlist.service.js';
import type { SqlConnection } from '../raw-sql/connection-lease.js';
import { SegmentDamagedError } from '../segment/segment-damaged.error.js';
import { decodeSegment } from '../segment/segment.js';
import { uuidText } from '../segment/uuid-v7.js';
import type { ClaimedPartition, ClaimedSegment } from './claim.js';
import { logPutAsideV1, type PutAsideArgs } from './pop.procedures.js';
import type { PopRequest } from './pop.request.js';

export interface PutAsideStats {
  /** Messages put aside, or stepped over where no dead letters are kept. */
  filed: number;
  /** Left to the next pop: the lease was lost, or the statement failed. */
  failed: number;
}

type Message = Omit<PutAsideArgs, 'partitionId' | 'group' | 'worker' | 'offset'>;

/** Claims in a row that brought nothing but such messages, after which the rest is left to the next pop. */
const ROUNDS_MAX = 8;

/**
 * Messages that their workers do not survive (maxDeliveries). PostgreSQL finds them and cannot open them, so a claim may
 * bring one that is not to be delivered but to be copied to the dead letters; its partition is claimed again then.
 */
@Injectable()
export class PutAside {
  private readonly logger = new SampledLogger(PutAside.name);
  private readonly counters = { filed: 0, failed: 0 };

  constructor(private readonly hotlist: HotlistService) {}

  /** What `claim` brings that may be delivered; the rest is put aside, on the same connection. */
  async claim(
    connection: SqlConnection,
    request: PopRequest,
    claim: () => Promise<ClaimedPartition[]>,
  ): Promise<ClaimedPartition[]> {
    for (let round = 1; ; round++) {
      const claimed = await claim();
      const rest = await this.settle(connection, request, claimed);
      if (rest.length > 0 || claimed.length === 0 || round === ROUNDS_MAX) return rest;
    }
  }

  /** What of a claim may be delivered; the rest is put aside. */
  async settle(
    connection: SqlConnection,
    request: PopRequest,
    claimed: ClaimedPartition[],
  ): Promise<ClaimedPartition[]> {
    const exhausted = claimed.filter(({ attempt }) => attempt === 0);
    if (exhausted.length === 0) return claimed;
    for (const partition of exhausted) await this.file(connection, request, partition);
    return claimed.filter(({ attempt }) => attempt !== 0);
  }

  stats(): PutAsideStats {
    return { ...this.counters };
  }

  /** Never throws: what else was claimed is leased to this pop and must reach its client. */
  private async file(
    connection: SqlConnection,
    { tenant, group, workerId }: PopRequest,
    { queue, partition, partitionId, segments: [segment] }: ClaimedPartition,
  ): Promise<void> {
    const offset = segment.base + segment.startIdx;
    const where = `partition ${partitionId} offset ${offset}`;
    try {
      const message = this.read(segment, where);
      const args = { partitionId, group, worker: workerId, offset, ...message };
      const result = await connection.callOne(logPutAsideV1, args);
      if (!result.ok) throw new Error(result.error);
      this.counters.filed += 1;
      // Its lease is over; what lies behind it may be claimed.
      this.hotlist.promote(queueKey(tenant, queue), group, { name: partition }, false);
    } catch (error) {
      this.counters.failed += 1;
      this.logger.warn(
        'put aside',
        `a message without deliveries left was not put aside, ${where}: ${(error as Error).message}`,
      );
    }
  }

  /** Without content when it is damaged: a cursor that waited for it would wait for ever. */
  private read({ blob, messageCount, startIdx }: ClaimedSegment, where: string): Message {
    try {
      const [frame] = decodeSegment(blob, messageCount).frames(startIdx, 1);
      return {
        messageId: uuidText(frame.messageId),
        transactionId: frame.transactionId.toString(),
        payload: frame.payload.length > 0 ? frame.payload.toString() : 'null',
        headers: frame.headers?.toString() ?? null,
        traceId: frame.traceId ? uuidText(frame.traceId) : null,
        producerSub: frame.producerSub?.toString() ?? null,
        encrypted: frame.encrypted,
      };
    } catch (error) {
      if (!(error instanceof SegmentDamagedError)) throw error;
      this.logger.error(`damaged ${where}`, `dead letter without payload, ${where}: ${error.message}`);
      return {
        ...{ messageId: null, transactionId: null, payload: null, headers: null },
        ...{ traceId: null, producerSub: null, encrypted: false },
      };
    }
  }
}
