import { Injectable } from '@nestjs/common';
import { AckRegistry } from '../ack-registry/ack-registry.js';
import { BrokerError } from '../base/errors/broker-error.js';
import { errorTable } from '../base/errors/error-table.js';
import { SampledLogger } from '../base/log/sampled-logger.js';
import { HASH_BYTES } from '../segment/transaction-hash.js';
import type { AckGroup } from './ack-group.js';
import { UNRESOLVABLE } from './ack-item.js';
import { AckLane, type AckConnection } from './ack-lane.js';
import { type AckResult, DONE, DONE_BEFORE, refused, STALE_ERROR } from './ack-result.js';
import { type AckedOutcome, type AckOutcome, logAckByHashV1 } from './ack.procedures.js';
import { DeadLetter } from './dead-letter.js';
import { HashAckFlusher } from './flush/hash-ack-flusher.js';

export interface HashAck {
  /** One per item of the group. */
  readonly results: readonly AckResult[];
  /** The partition may be claimed again. Rather said once too often: a claim in vain costs less than a lease's length. */
  readonly released: boolean;
}

/** What became of a message that had to be put aside; null when none had to. */
type Filing = { ok: true } | { ok: false; error: string } | null;

export interface HashAckStats {
  calls: number;
  refused: number;
  noops: number;
  stale: number;
  unresolved: number;
  deadLetters: number;
  dropped: number;
  /** Acks without a lease that named more than there is. */
  capped: number;
}

/** The slow path and the authority: each transactionId is looked up, and PostgreSQL decides what the ack means. */
@Injectable()
export class AckByHash {
  private readonly logger = new SampledLogger(AckByHash.name);
  private readonly counters = {
    ...{ calls: 0, refused: 0, noops: 0, stale: 0, unresolved: 0 },
    ...{ deadLetters: 0, dropped: 0, capped: 0 },
  };

  constructor(
    private readonly lane: AckLane,
    private readonly flusher: HashAckFlusher,
    private readonly registry: AckRegistry,
    private readonly deadLetter: DeadLetter,
  ) {}

  /** Groups without a refusal that one request may have under way at once. */
  get completionsAtOnce(): number {
    return this.flusher.groupsOfARequestMax;
  }

  async settle(group: AckGroup): Promise<HashAck> {
    const { partitionId, worker } = group;
    const batchEnd = this.registry.spoil(partitionId, group.group, worker);
    const hashes = await group.hashes();
    const { outcome, filing } = await this.ask(group, hashes);

    this.counters.calls += 1;
    if (!outcome.ok) {
      this.counters.refused += 1;
      this.registry.drop(partitionId, group.group, worker);
      return { results: fill(group, refused(outcome.error ?? 'ack rejected')), released: false };
    }
    this.count(outcome, filing);
    const results = resultsOf(group, hashes, outcome, filing);
    const released = isReleased(group, outcome, filing, results, batchEnd);
    if (released) this.registry.drop(partitionId, group.group, worker);
    return { results, released };
  }

  stats(): HashAckStats {
    return { ...this.counters };
  }

  private async ask(group: AckGroup, hashes: Buffer): Promise<{ outcome: AckOutcome; filing: Filing }> {
    const args = { partitionId: group.partitionId, group: group.group, worker: group.worker, hashes };
    if (group.isCompletion) return { outcome: await this.flusher.settle(args), filing: null };
    const statuses = group.items.map(({ status }) => status);
    return this.lane.run(async (connection) => {
      const outcome = await connection.callOne(logAckByHashV1, { ...args, statuses });
      // On the same connection: the shorter the way, the less likely that the lease ends on it.
      const filing = outcome.ok && outcome.dlq ? await this.file(connection, group, outcome.off) : null;
      return { outcome, filing };
    });
  }

  /** The ack itself is committed by now, so whatever fails here must not hide what it did. */
  private async file(connection: AckConnection, group: AckGroup, offset: number): Promise<Filing> {
    try {
      return (await this.deadLetter.file(connection, group, offset))
        ? { ok: true }
        : { ok: false, error: 'dlq rejected' };
    } catch (cause) {
      const where = `partition ${group.partitionId} offset ${offset}`;
      this.logger.warn('dead letter', `dead letter not filed, ${where}: ${(cause as Error).message}`);
      return {
        ok: false,
        error: cause instanceof BrokerError ? cause.message : errorTable.internal.meaning,
      };
    }
  }

  private count(outcome: AckedOutcome, filing: Filing): void {
    this.counters.noops += outcome.noopHashes.length;
    this.counters.stale += outcome.staleHashes.length;
    this.counters.unresolved += outcome.unresolvedHashes.length;
    if (filing?.ok) this.counters.deadLetters += 1;
    if (outcome.dropped) this.counters.dropped += 1;
    if (outcome.capped) this.counters.capped += 1;
  }
}

function resultsOf(group: AckGroup, hashes: Buffer, outcome: AckedOutcome, filing: Filing): AckResult[] {
  const dlq = filing?.ok ?? false;
  const as = (result: AckResult): AckResult => (dlq ? { ...result, dlq } : result);
  const [done, before, stale, unresolved] = [
    DONE,
    DONE_BEFORE,
    refused(STALE_ERROR),
    refused(UNRESOLVABLE),
  ].map(as);
  const results = fill(group, done);

  const exceptions = new Map<string, AckResult>();
  for (const hash of outcome.noopHashes) exceptions.set(hash, before);
  for (const hash of outcome.unresolvedHashes) exceptions.set(hash, unresolved);
  const staleHashes = new Set(outcome.staleHashes);
  const notFiled = filing && !filing.ok ? refused(filing.error) : null;
  if (exceptions.size === 0 && staleHashes.size === 0 && !notFiled) return results;

  group.items.forEach(({ status }, i) => {
    const hash = hashes.toString('hex', i * HASH_BYTES, (i + 1) * HASH_BYTES);
    const isRefusal = status !== 'completed';
    // One id may come twice in a request, once as completed and once as refused: each has its own list.
    const exception = isRefusal && staleHashes.has(hash) ? stale : exceptions.get(hash);
    if (exception) results[i] = exception;
    else if (isRefusal && notFiled) results[i] = notFiled;
  });
  return results;
}

function isReleased(
  group: AckGroup,
  outcome: AckedOutcome,
  filing: Filing,
  results: readonly AckResult[],
  batchEnd: number | null,
): boolean {
  if (filing) return filing.ok;
  if (group.items.some(({ status }, i) => status !== 'completed' && results[i].success)) return true;
  return batchEnd === null ? outcome.acked > 0 : outcome.off >= batchEnd;
}

function fill(group: AckGroup, result: AckResult): AckResult[] {
  return new Array<AckResult>(group.items.length).fill(result);
}
