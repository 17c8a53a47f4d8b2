import { Injectable } from '@nestjs/common';
import type { Fingerprint } from '../ack-registry/fingerprint.js';
import { BrokerError } from '../base/errors/broker-error.js';
import { errorTable } from '../base/errors/error-table.js';
import { SampledLogger } from '../base/log/sampled-logger.js';
import { type AckGroup, groupAcks } from './ack-group.js';
import { type AckResult, DONE, DONE_BEFORE, NOT_OWNED_ERROR, refused } from './ack-result.js';
import type { AckRequest } from './ack.request.js';
import { AtMost, eachAtMost } from './at-most.js';
import { AckByHash } from './by-hash.js';
import { FullBatchAck } from './full-batch.js';
import { PartitionLocator } from './partition-locator.js';
import { RecentAcks } from './recent-acks.js';
import { ReleaseNotice } from './release-notice.js';

export interface AckStats {
  requests: number;
  items: number;
  /** Groups completed by position … */
  fullBatches: number;
  /** … repeated … */
  repeats: number;
  /** … and resolved by transactionId. */
  byHash: number;
  /** Groups without a verdict: no connection, no permit, a failed statement. */
  failures: number;
}

/** One result for every item of a group, or one per item. */
type Settled = AckResult | readonly AckResult[];

/** What one request may have looked up at once. */
interface AtOnce {
  readonly completions: AtMost;
  readonly refusals: AtMost;
}

/** Groups under way for one request; more than go into one flush gains nothing. */
const GROUPS_AT_ONCE = 1000;
/** Groups with a refusal in them, of one request at once: each takes a statement, and the ack lane belongs to everybody. */
const REFUSALS_AT_ONCE = 8;

/**
 * The life of an ack, for each (partition, lease) of the request:
 *
 *   of this tenant? (tenancy only)
 *   said before? → no-op        full batch? → one cursor move, many to a commit        else → by transactionId
 *        and whatever released the lease is announced before the answer, so that the next pop finds it
 */
@Injectable()
export class AckService {
  private readonly logger = new SampledLogger(AckService.name);
  private readonly counters = { requests: 0, items: 0, fullBatches: 0, repeats: 0, byHash: 0, failures: 0 };

  constructor(
    private readonly recent: RecentAcks,
    private readonly fullBatch: FullBatchAck,
    private readonly byHash: AckByHash,
    private readonly notice: ReleaseNotice,
    private readonly locator: PartitionLocator,
  ) {}

  /**
   * One result per item, in order.
   * @param owner whose partitions alone may be acked; null: anybody's
   * @throws BrokerError `overloaded` when nothing of the request was tried; every other failure is its items' error
   */
  async acknowledge({ group, items }: AckRequest, owner: string | null): Promise<AckResult[]> {
    this.counters.requests += 1;
    this.counters.items += items.length;
    const results = items.map(({ problem }) => (problem === null ? DONE : refused(problem)));
    const groups = await groupAcks(items, group);
    const atOnce = {
      completions: new AtMost(this.byHash.completionsAtOnce),
      refusals: new AtMost(REFUSALS_AT_ONCE),
    };
    let overloaded = 0;

    await eachAtMost(groups, GROUPS_AT_ONCE, async (acks) => {
      let settled: Settled;
      try {
        settled = (await this.isForeign(acks, owner))
          ? refused(NOT_OWNED_ERROR)
          : await this.settle(acks, atOnce);
      } catch (error) {
        if (error instanceof BrokerError && error.code === 'overloaded') overloaded += 1;
        settled = refused(this.errorText(error));
      }
      acks.positions.forEach((position, i) => {
        results[position] = isForAll(settled) ? settled : settled[i];
      });
    });

    if (overloaded > 0 && overloaded === groups.length) throw new BrokerError('overloaded');
    return results;
  }

  stats(): AckStats {
    return { ...this.counters };
  }

  /** An ack names its partition by id alone, so nothing else keeps a tenant from those of another. */
  private async isForeign({ partitionId }: AckGroup, owner: string | null): Promise<boolean> {
    if (owner === null) return false;
    return !(await this.locator.isOwnedBy(owner, partitionId));
  }

  private async settle(acks: AckGroup, atOnce: AtOnce): Promise<Settled> {
    if (!acks.isCompletion || acks.worker === '') return this.settleByHash(acks, atOnce);
    const fingerprint = await acks.fingerprint();
    const saidBefore = this.recent.find(acks, fingerprint.digest);
    if (saidBefore && (await saidBefore)) {
      this.counters.repeats += 1;
      return DONE_BEFORE;
    }
    // No turn passes between looking and remembering, so of two equal requests one is the first.
    const outcome = this.complete(acks, fingerprint, atOnce);
    this.recent.remember(acks, fingerprint.digest, outcome.then(isSuccess));
    return outcome;
  }

  private async complete(acks: AckGroup, acked: Fingerprint, atOnce: AtOnce): Promise<Settled> {
    if (!(await this.fullBatch.complete(acks, acked))) return this.settleByHash(acks, atOnce);
    this.counters.fullBatches += 1;
    await this.notice.send(acks, true);
    return DONE;
  }

  private settleByHash(acks: AckGroup, atOnce: AtOnce): Promise<Settled> {
    return (acks.isCompletion ? atOnce.completions : atOnce.refusals).run(async () => {
      this.counters.byHash += 1;
      const { results, released } = await this.byHash.settle(acks);
      if (released) await this.notice.send(acks, false);
      return results;
    });
  }

  private errorText(error: unknown): string {
    this.counters.failures += 1;
    if (!(error instanceof BrokerError)) {
      this.logger.error('unexpected', `ack failed: ${(error as Error).message}`, (error as Error).stack);
      return errorTable.internal.meaning;
    }
    // The others have been logged where they happened, once for all the requests that met them.
    if (error.code === 'sql_failed' || error.code === 'internal') {
      const { message } = (error.cause ?? error) as Error;
      this.logger.warn(error.code, `ack failed: ${message}`);
    }
    return error.code === 'pool' ? 'pool' : error.message;
  }
}

function isForAll(settled: Settled): settled is AckResult {
  return !Array.isArray(settled);
}

function isSuccess(settled: Settled): boolean {
  return isForAll(settled) ? settled.success : settled.every(({ success }) => success);
}
