import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, type Clock } from '../base/clock/clock.js';
import { Fifo } from '../base/fifo.js';
import { ACK_REGISTRY_OPTIONS, type AckRegistryOptions } from './ack-registry.options.js';
import { type Fingerprint, fingerprintOf } from './fingerprint.js';
import type { IdHashes } from './id-hashes.js';
import { LeaseCollector, type LeaseTerms } from './lease-collector.js';
import { batchBytes, leaseBytes, type LeasedBatch, slotOf, WorkerLease } from './leased-batch.js';
import { PartitionMemo } from './partition-memo.js';

/** A batch as pop hands it out. */
export interface HandedBatch {
  readonly partitionId: string;
  readonly partition: string;
  /** queueKey(tenant, queue) */
  readonly key: string;
  readonly group: string;
  readonly worker: string;
  readonly batchEnd: number;
  /** Messages of the lease in this partition. */
  readonly messages: number;
  /** Of every message of the batch; null when the batch was not handed out in full and cannot be completed as one. */
  readonly hashes: IdHashes | null;
  /** Null when the length is not known. */
  readonly leaseMs: number | null;
}

/** What a full-batch ack completes. */
export interface CompletedBatch {
  readonly batchEnd: number;
  readonly count: number;
}

export interface AckRegistryStats {
  leases: number;
  entries: number;
  bytes: number;
  hits: number;
  misses: number;
  evicted: number;
  expired: number;
}

const MARGIN_MS = 10_000;
const UNKNOWN_LEASE_MS = 60_000;
const SWEEP_EVERY_MS = 5_000;

/**
 * What this broker handed out and has not seen acknowledged: written by pop, read by ack and by lease renewal. A full
 * batch then becomes one cursor move, and a renewal names its partitions instead of scanning. Memory only: whatever is
 * missing here (a restart, another broker, eviction) costs the way through the hash rows, never a message, and the lease
 * is checked in PostgreSQL in any case.
 *
 * Always true: a lease stands in the line of use, oldest first, and has at least one batch; a batch is in its lease's
 * list and under its slot; `bytes` is the sum of both.
 */
@Injectable()
export class AckRegistry {
  private readonly leases = new Map<string, WorkerLease>();
  private readonly line = new Fifo<WorkerLease>();
  private readonly batches = new Map<string, LeasedBatch>();
  private bytes = 0;
  private sweptAtMs = 0;
  private readonly counters = { hits: 0, misses: 0, evicted: 0, expired: 0 };

  constructor(
    @Inject(ACK_REGISTRY_OPTIONS) private readonly options: AckRegistryOptions,
    @Inject(CLOCK) private readonly clock: Clock,
    private readonly memo: PartitionMemo,
  ) {}

  /** What gathers the batches of one leased pop while its answer is written. */
  collect(terms: LeaseTerms): LeaseCollector {
    return new LeaseCollector(this, terms, this.options.enabled);
  }

  /** Every partition of a leased pop goes in, also one that could not be handed out in full. */
  register(handed: HandedBatch): void {
    const nowMs = this.clock.monoMs();
    this.sweep(nowMs);
    this.memo.remember(handed.partitionId, handed.key, handed.partition);
    const slot = slotOf(handed.partitionId, handed.group);
    const before = this.batches.get(slot);
    if (before) this.remove(before); // the slot has one lease at a time, so the older one is over

    const lease = this.leaseOf(handed.worker, nowMs + (handed.leaseMs ?? UNKNOWN_LEASE_MS) + MARGIN_MS);
    const digest = handed.hashes ? fingerprintOf(handed.hashes.view).digest : '';
    const { partitionId, batchEnd, messages } = handed;
    const batch: LeasedBatch = { lease, slot, partitionId, batchEnd, messages, digest };
    lease.batches.push(batch);
    this.batches.set(slot, batch);
    this.bytes += batchBytes(slot);
    this.evict();
  }

  /**
   * The batch that these transactionIds complete: all of it, nothing else, handed to this worker. It can be taken once,
   * whatever becomes of the ack; it stays known for renewals until drop().
   */
  take(partitionId: string, group: string, worker: string, acked: Fingerprint): CompletedBatch | null {
    const batch = this.find(partitionId, group, worker);
    if (!batch || batch.digest !== acked.digest) {
      this.counters.misses += 1;
      return null;
    }
    batch.digest = '';
    this.counters.hits += 1;
    return { batchEnd: batch.batchEnd, count: batch.messages };
  }

  /**
   * Before an ack of less than the batch: the whole is not one cursor move any more. Returns the batch's last offset,
   * null when it is not known here. `worker` '' is an ack without a lease, which acts on whoever holds it.
   */
  spoil(partitionId: string, group: string, worker: string): number | null {
    const batch = this.find(partitionId, group, worker);
    if (!batch) return null;
    batch.digest = '';
    return batch.batchEnd;
  }

  /** The lease on this partition is over. */
  drop(partitionId: string, group: string, worker: string): void {
    const batch = this.find(partitionId, group, worker);
    if (batch) this.remove(batch);
  }

  /** The worker's leases were renewed for `leaseMs` from now. */
  extend(worker: string, leaseMs: number): void {
    const lease = this.leases.get(worker);
    if (!lease) return;
    lease.expiresAtMs = Math.max(lease.expiresAtMs, this.clock.monoMs() + leaseMs + MARGIN_MS);
    this.line.remove(lease);
    this.line.push(lease);
  }

  /** Every partition this worker still holds, or none when the lease is not known here. */
  partitionsOf(worker: string): string[] {
    const lease = this.leases.get(worker);
    if (!lease || lease.expiresAtMs <= this.clock.monoMs()) return [];
    return lease.batches.map(({ partitionId }) => partitionId);
  }

  stats(): AckRegistryStats {
    return { leases: this.leases.size, entries: this.batches.size, bytes: this.bytes, ...this.counters };
  }

  private find(partitionId: string, group: string, worker: string): LeasedBatch | null {
    const batch = this.batches.get(slotOf(partitionId, group));
    if (!batch || (worker !== '' && batch.lease.worker !== worker)) return null;
    return batch.lease.expiresAtMs > this.clock.monoMs() ? batch : null;
  }

  private leaseOf(worker: string, expiresAtMs: number): WorkerLease {
    const known = this.leases.get(worker);
    if (known) {
      known.expiresAtMs = Math.max(known.expiresAtMs, expiresAtMs);
      return known;
    }
    const lease = new WorkerLease(worker, expiresAtMs);
    this.leases.set(worker, lease);
    this.line.push(lease);
    this.bytes += leaseBytes(worker);
    return lease;
  }

  private remove(batch: LeasedBatch): void {
    const { lease } = batch;
    this.batches.delete(batch.slot);
    lease.batches.splice(lease.batches.indexOf(batch), 1);
    this.bytes -= batchBytes(batch.slot);
    if (lease.batches.length > 0) return;
    this.leases.delete(lease.worker);
    this.line.remove(lease);
    this.bytes -= leaseBytes(lease.worker);
  }

  private forget(lease: WorkerLease): number {
    const { length } = lease.batches;
    for (const batch of [...lease.batches]) this.remove(batch);
    return length;
  }

  /** Oldest first; the newest stays, or a pop wider than the budget would evict itself partition by partition. */
  private evict(): void {
    while (this.bytes > this.options.bytesMax && this.line.size > 1) {
      this.counters.evicted += this.forget(this.line.first!);
    }
  }

  /** Rides on register(), so that a broker without pops has no timer and nothing to sweep. */
  private sweep(nowMs: number): void {
    if (nowMs - this.sweptAtMs < SWEEP_EVERY_MS) return;
    this.sweptAtMs = nowMs;
    for (const lease of this.leases.values()) {
      if (lease.expiresAtMs <= nowMs) this.counters.expired += this.forget(lease);
    }
  }
}
