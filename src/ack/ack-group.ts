import { type Fingerprint, fingerprintOf } from '../ack-registry/fingerprint.js';
import { IdHashes } from '../ack-registry/id-hashes.js';
import { HASH_BYTES, hashTransactionIds } from '../segment/transaction-hash.js';
import type { AckItem } from './ack-item.js';
import { inTurns } from './in-turns.js';

const ITEMS_PER_TURN = 8192;

/** The items of one request that act on one cursor under one lease: one atomic step of that cursor. */
export class AckGroup {
  readonly items: AckItem[] = [];
  /** Where each item stands in the request. */
  readonly positions: number[] = [];
  /** Nothing but completed items. */
  isCompletion = true;
  private computedFingerprint: Promise<Fingerprint> | undefined;

  constructor(
    readonly partitionId: string,
    readonly group: string,
    /** The lease's owner; '' for acks without a lease. */
    readonly worker: string,
  ) {}

  add(item: AckItem, position: number): void {
    this.items.push(item);
    this.positions.push(position);
    if (item.status !== 'completed') this.isCompletion = false;
  }

  /** Of the distinct transactionIds. */
  fingerprint(): Promise<Fingerprint> {
    this.computedFingerprint ??= this.computeFingerprint();
    return this.computedFingerprint;
  }

  /** The stored hash of each transactionId, 16 bytes per item. */
  async hashes(): Promise<Buffer> {
    const hashes = Buffer.allocUnsafe(this.items.length * HASH_BYTES);
    await inTurns(this.items.length, ITEMS_PER_TURN, (from, to) => {
      const ids = this.items.slice(from, to).map(({ transactionId }) => transactionId);
      hashTransactionIds(ids).copy(hashes, from * HASH_BYTES);
    });
    return hashes;
  }

  private async computeFingerprint(): Promise<Fingerprint> {
    const ids = new IdHashes(this.items.length);
    await inTurns(this.items.length, ITEMS_PER_TURN, (from, to) => {
      for (let i = from; i < to; i++) ids.addText(this.items[i].transactionId);
    });
    return fingerprintOf(ids.view);
  }
}

/** Groups the usable items by (partition, lease), in the order of their first item. Items with a problem are left out. */
export async function groupAcks(items: readonly AckItem[], group: string): Promise<AckGroup[]> {
  const groups = new Map<string, AckGroup>();
  let last: AckGroup | undefined;
  await inTurns(items.length, ITEMS_PER_TURN, (from, to) => {
    for (let i = from; i < to; i++) {
      const item = items[i];
      if (item.problem !== null) continue;
      const { partitionId, leaseId } = item;
      // Acks of one batch stand together, so the map is asked once a batch.
      if (!last || last.partitionId !== partitionId || last.worker !== leaseId) {
        const key = partitionId + leaseId;
        last = groups.get(key);
        if (!last) groups.set(key, (last = new AckGroup(partitionId, group, leaseId)));
      }
      last.add(item, i);
    }
  });
  return [...groups.values()];
}
