import { Injectable } from '@nestjs/common';
import { BrokerError } from '../base/errors/broker-error.js';
import { SampledLogger } from '../base/log/sampled-logger.js';
import { queueKey } from '../base/queue-key.js';
import { SegmentDamagedError } from '../segment/segment-damaged.error.js';
import { AckRegistry } from '../ack-registry/ack-registry.js';
import type { BatchHead, LeaseCollector } from '../ack-registry/lease-collector.js';
import { PayloadCipher } from '../encryption/payload-cipher.js';
import { QueueConfigService } from '../queue-config/queue-config.service.js';
import { batchEndOf, type ClaimedPartition } from './claim.js';
import { nothing, type Delivery } from './delivery.js';
import type { PopRequest } from './pop.request.js';
import { JsonWriter } from './render/json-writer.js';
import { renderSegment, type AnswerContext } from './render/render-messages.js';

/** Bytes rendered before the event loop gets a turn: big answers must not hold up everyone else's (serve-path 0.3). */
const SLICE_BYTES = 1024 * 1024;

/**
 * Claimed segments to a finished answer: frames cut and copied. Runs after permit and connection are back, so a large
 * answer costs nobody a place.
 *
 * A damaged segment ends its partition's part of the answer: what follows it in the lease would otherwise be acked over
 * it and the damage become a silent loss. The log names it; an operator steps over it with a seek.
 */
@Injectable()
export class HandOver {
  private readonly logger = new SampledLogger(HandOver.name);
  private readonly idle: JsonWriter[] = [];

  constructor(
    private readonly ackRegistry: AckRegistry,
    private readonly queueConfig: QueueConfigService,
    private readonly cipher: PayloadCipher,
  ) {}

  /** @throws BrokerError `segment_damaged` when nothing of the claim can be read */
  async of(request: PopRequest, claimed: readonly ClaimedPartition[]): Promise<Delivery> {
    const writer = (this.idle.pop() ?? new JsonWriter()).reset();
    try {
      return await this.render(writer, request, claimed);
    } finally {
      if (this.idle.length < 4) this.idle.push(writer);
    }
  }

  private async render(
    writer: JsonWriter,
    request: PopRequest,
    claimed: readonly ClaimedPartition[],
  ): Promise<Delivery> {
    const context: AnswerContext = {
      leaseId: request.autoAck ? '' : request.workerId,
      group: request.group,
      cipher: this.cipher,
    };
    const first = claimed[0];
    const head = JSON.stringify({
      success: true,
      queue: request.queue,
      partition: first.partition,
      partitionId: first.partitionId,
      leaseId: context.leaseId,
      consumerGroup: request.group,
    });
    writer.bytes(Buffer.from(`${head.slice(0, -1)},"messages":[`));
    let count = 0;
    let sliceEnd = SLICE_BYTES;
    let damage: BrokerError | null = null;
    const leases = request.autoAck ? null : this.collectorFor(request);
    for (const partition of claimed) {
      leases?.begin(batchHeadOf(request.tenant, partition));
      for (const segment of partition.segments) {
        try {
          renderSegment(writer, partition, segment, context, count === 0, leases?.onFrame);
        } catch (error) {
          if (!(error instanceof SegmentDamagedError)) throw error;
          damage = this.report(partition, segment.base, error);
          break;
        }
        count += segment.take;
        if (writer.length > sliceEnd) {
          sliceEnd = writer.length + SLICE_BYTES;
          await new Promise<void>((resolve) => setImmediate(resolve));
        }
      }
    }
    leases?.finish();
    if (count === 0) {
      if (damage) throw damage;
      return nothing;
    }
    writer.ascii(`],"partitionsClaimed":${claimed.length}}`);
    return { count, body: writer.take() };
  }

  /** Notes what was handed out, so that the full-batch ack becomes one positional cursor move. */
  private collectorFor(request: PopRequest): LeaseCollector {
    const leaseSeconds =
      request.leaseSeconds ?? this.queueConfig.peek(request.tenant, request.queue)?.leaseSeconds;
    return this.ackRegistry.collect({
      group: request.group,
      worker: request.workerId,
      leaseMs: leaseSeconds === undefined ? null : leaseSeconds * 1000,
    });
  }

  private report(partition: ClaimedPartition, base: number, error: SegmentDamagedError): BrokerError {
    const where = `partition ${partition.partitionId} offset ${base}`;
    this.logger.error(`damaged ${where}`, `stored segment at ${where} is damaged: ${error.message}`);
    return new BrokerError(
      'segment_damaged',
      `the stored segment at ${where} is damaged: ${error.message}`,
      undefined,
      {
        cause: error,
      },
    );
  }
}

function batchHeadOf(tenant: string, claimed: ClaimedPartition): BatchHead {
  return {
    partitionId: claimed.partitionId,
    partition: claimed.partition,
    key: queueKey(tenant, claimed.queue),
    batchEnd: batchEndOf(claimed),
    messages: claimed.segments.reduce((sum, segment) => sum + segment.take, 0),
  };
}
