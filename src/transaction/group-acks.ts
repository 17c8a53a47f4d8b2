import { AckGroup } from '../ack/ack-group.js';
import { inTurns } from '../ack/in-turns.js';
import type { Operation } from './operation.js';
import { rolledBack } from './rolled-back.js';

const OPERATIONS_PER_TURN = 8192;

/**
 * The acks of a transaction by cursor, in the order of their first operation; positions are those of the operations. A
 * group's worker is the lease that one of its acks names, '' when none does.
 * @throws RolledBackError when acks of one cursor name different leases: at most one can hold it
 */
export async function groupAcks(operations: readonly Operation[]): Promise<AckGroup[]> {
  const groups = new Map<string, AckGroup>();
  const leases = new Map<string, string>();
  await inTurns(operations.length, OPERATIONS_PER_TURN, (from, to) => {
    for (let i = from; i < to; i++) {
      const operation = operations[i];
      if (operation.kind !== 'ack') continue;
      const { ack, group } = operation;
      const cursor = ack.partitionId + group; // ids have one length: no separator
      const lease = leases.get(cursor);
      if (lease && ack.leaseId !== '' && ack.leaseId !== lease)
        throw rolledBack(
          `ack failed for partition ${ack.partitionId} group "${group}": several leases named`,
        );
      if (!lease && ack.leaseId !== '') leases.set(cursor, ack.leaseId);
      let found = groups.get(cursor);
      if (!found) groups.set(cursor, (found = new AckGroup(ack.partitionId, group, '')));
      found.add(ack, i);
    }
  });
  return [...groups].map(([cursor, found]) => heldBy(found, leases.get(cursor) ?? ''));
}

/** The same acks under another lease. */
export function heldBy(acks: AckGroup, worker: string): AckGroup {
  if (acks.worker === worker) return acks;
  const held = new AckGroup(acks.partitionId, acks.group, worker);
  acks.items.forEach((item, i) => held.add(item, acks.positions[i]));
  return held;
}
