import { SLOT_MASK } from './entry-table.js';
import { type Holds, isPlain, isWindowOnly } from './holds.js';
import { IDLE, INFLIGHT, READY, type Ring, WHEEL } from './ring.js';

/**
 * What news from outside does to an entry: a mark (something was pushed), a reseed row (PostgreSQL lists the
 * partition as pending) and a promote (an ack released the lease).
 */

/** True when the entry turned ready. */
export function mark(ring: Ring, index: number, messages: number, nowMs: number, holds: Holds): boolean {
  ring.assertPending(index, messages, nowMs);
  const page = ring.entries.page(index);
  const slot = index & SLOT_MASK;
  switch (page.state[slot]) {
    case IDLE:
      if (holds.delayedMs > 0) ring.toWheel(index, nowMs + holds.delayedMs + holds.padMs);
      else if (holds.windowMs > 0 && page.count[slot]! < holds.windowBatch) {
        // Counted from the first mark: restarted by each one, a busy partition would never be served.
        ring.toWheel(index, nowMs + holds.windowMs);
      } else {
        ring.toReady(index, nowMs);
        return true;
      }
      return false;
    case WHEEL:
      if (isWindowOnly(holds) && page.count[slot]! >= holds.windowBatch) break;
      // Only the padding is left and this mark proves that there is work. Sooner would be a look inside a live
      // lease, which does nothing but park the entry again.
      if (isPlain(holds) && ring.revisitMsOf(index) <= nowMs + holds.padMs) break;
      return false;
    default:
      return false;
  }
  ring.toReady(index, nowMs);
  return true;
}

/** By so much the recorded time of the last write may be older than the write. */
export const writeTimeLagMs = 1000;

/**
 * A row of a reseed walk. `writtenAgoMs` is how long ago the partition was last written, when the walk knows it: on
 * a delayed queue everything is visible `delayedMs` after that, so a restart does not add the whole delay again; a
 * window has passed when nothing was written for its length.
 * True when the entry turned ready.
 */
export function applyReseedRow(
  ring: Ring,
  index: number,
  nowMs: number,
  holds: Holds,
  isAlive: (owner: number) => boolean,
  writtenAgoMs = 0,
): boolean {
  ring.entries.ensure(index);
  const page = ring.entries.page(index);
  const slot = index & SLOT_MASK;
  page.pendingSinceMs[slot] = nowMs;
  // At least one message is there. Left at 0, an ack of what a drained claim took would clear the entry although the
  // row may be about messages behind that claim.
  page.count[slot] = Math.max(1, page.count[slot]!);
  switch (page.state[slot]) {
    case IDLE:
      if (holds.delayedMs > 0) {
        ring.toWheel(index, nowMs + Math.max(0, holds.delayedMs - writtenAgoMs) + holds.padMs);
        return false;
      }
      if (holds.windowMs > 0) {
        // PostgreSQL is told not to hold it back, so nobody else would.
        const quietInMs = holds.windowMs + writeTimeLagMs - writtenAgoMs;
        if (quietInMs > 0) {
          ring.toWheel(index, nowMs + quietInMs);
          return false;
        }
      }
      break;
    case WHEEL:
      // Without holds it can only be a parked lease, and the lease may have ended without a word to this broker.
      if (!isPlain(holds)) return false;
      break;
    case INFLIGHT:
      if (isAlive(page.owner[slot]!)) {
        // The pop that holds it may have looked before the row was true; an "empty" of it must not clear the entry.
        page.epoch[slot]!++;
        return false;
      }
      break;
    case READY:
      return false;
  }
  ring.toReady(index, nowMs);
  return true;
}

/** `ready`: to be served now. `held`: back on the wheel for its window. `noted`: the check-in will see it. */
export type Promotion = 'ready' | 'cleared' | 'held' | 'noted' | 'ignored';

/**
 * The lease of this group on the partition ended. `covered` says that the whole leased batch was completed, so that
 * a partition its claim had drained is done unless marks came meanwhile.
 */
export function promote(ring: Ring, index: number, covered: boolean, nowMs: number, holds: Holds): Promotion {
  if (!ring.entries.has(index)) return 'ignored';
  const page = ring.entries.page(index);
  const slot = index & SLOT_MASK;
  switch (page.state[slot]) {
    case WHEEL: {
      if (covered && page.drained[slot] === 1) {
        const count = page.count[slot]!;
        if (count === 0) {
          ring.toIdle(index);
          return 'cleared';
        }
        // Everything pending came while the batch was out and has had no window yet; the ring is the only one who
        // holds it back, PostgreSQL is told not to. A nacked batch had its window and does not wait again.
        const quietMs = page.pendingSinceMs[slot]! + holds.windowMs;
        if (isWindowOnly(holds) && count < holds.windowBatch && quietMs > nowMs) {
          ring.toWheel(index, quietMs);
          return 'held';
        }
      }
      ring.toReady(index, nowMs);
      return 'ready';
    }
    case INFLIGHT:
      // Two races: a claim that saw the lease just before it ended must not park the entry for it (releases), and
      // one that saw nothing must not clear it (epoch).
      page.epoch[slot]!++;
      page.releases[slot]!++;
      return 'noted';
    default:
      return 'ignored';
  }
}
