import { Injectable } from '@nestjs/common';
import { type KnownPartition, PartitionMemo } from '../ack-registry/partition-memo.js';
import { CoalescedCalls } from '../base/coalesced-calls.js';
import { queueKey, splitQueueKey } from '../base/queue-key.js';
import { RawSqlService } from '../raw-sql/raw-sql.service.js';
import { partitionQueueV1 } from './ack.procedures.js';
import { AtMost } from './at-most.js';

/** Of all requests together: each takes a connection without a permit. */
const LOOKUPS_AT_ONCE = 8;

/** Which queue a partition belongs to: remembered since it was handed out here, or looked up once. */
@Injectable()
export class PartitionLocator {
  private readonly lookups = new CoalescedCalls<KnownPartition | null>();
  private readonly atOnce = new AtMost(LOOKUPS_AT_ONCE);

  constructor(
    private readonly memo: PartitionMemo,
    private readonly rawSql: RawSqlService,
  ) {}

  /** Null when there is no such partition. An absence is not remembered: ids are free to invent. */
  async find(partitionId: string): Promise<KnownPartition | null> {
    return (
      this.memo.find(partitionId) ??
      this.lookups.call(partitionId, () => this.atOnce.run(() => this.lookUp(partitionId)))
    );
  }

  async isOwnedBy(tenant: string, partitionId: string): Promise<boolean> {
    const known = await this.find(partitionId);
    return known !== null && splitQueueKey(known.key).tenant === tenant;
  }

  private async lookUp(partitionId: string): Promise<KnownPartition | null> {
    const [found] = await this.rawSql.call(partitionQueueV1, partitionId);
    if (!found) return null;
    return this.memo.remember(partitionId, queueKey(found.tenant, found.queue), found.partition);
  }
}
