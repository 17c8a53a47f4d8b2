import { SLOT_MASK } from './entry-table.js';
import { type Holds, isPlain, isWindowOnly } from './holds.js';
import type { Candidate, Ring } from './ring.js';
import type { ClaimTerms, Verdict } from './verdict.js';

/** The horizon PostgreSQL gives for "pending, but neither leased nor servable". */
const unservableMs = 250;
const emptyRevisitMinMs = 50;
const emptyRevisitMaxMs = 1000;
const ghostGraceMs = 1000;

/** One verdict for an entry this check-out still holds. */
export function applyVerdict(
  ring: Ring,
  candidate: Candidate,
  verdict: Verdict,
  terms: ClaimTerms,
  nowMs: number,
  holds: Holds,
): void {
  switch (verdict.state) {
    case 'took':
      return took(ring, candidate, verdict.drained === true, terms, nowMs, holds);
    case 'leased':
      return leased(ring, candidate, verdict.waitMs ?? unservableMs, nowMs, holds);
    case 'empty':
      return empty(ring, candidate, nowMs, holds);
  }
}

function took(
  ring: Ring,
  { index, epoch }: Candidate,
  drained: boolean,
  terms: ClaimTerms,
  nowMs: number,
  holds: Holds,
): void {
  const page = ring.entries.page(index);
  const slot = index & SLOT_MASK;
  const marked = page.epoch[slot] !== epoch;
  // A mark that came meanwhile may be for messages behind the claim: its count stays, so that the ack does not
  // take the partition for done.
  if (!marked) page.count[slot] = 0;
  page.drained[slot] = drained ? 1 : 0;

  if (!terms.autoAck) {
    // Usually an ack comes first and promotes. It may be served by another broker: hence the cap.
    ring.toWheel(index, nowMs + Math.min(terms.leaseMs + holds.padMs, holds.revisitCapMs));
  } else if (!drained) {
    // The rest has had its delay or window already, or PostgreSQL will say so.
    ring.toReady(index, nowMs);
  } else if (!marked) {
    // Nothing is left and nothing came: a look would be a sure miss.
    ring.toIdle(index);
  } else if (isWindowOnly(holds) && page.count[slot]! < holds.windowBatch) {
    ring.toWheel(index, nowMs + holds.windowMs);
  } else {
    ring.toReady(index, nowMs);
  }
}

function leased(
  ring: Ring,
  { index, releases }: Candidate,
  waitMs: number,
  nowMs: number,
  holds: Holds,
): void {
  if (ring.entries.page(index).releases[index & SLOT_MASK] !== releases) ring.toReady(index, nowMs);
  else ring.toWheel(index, nowMs + Math.min(waitMs + holds.padMs, holds.revisitCapMs));
}

function empty(ring: Ring, { index, epoch }: Candidate, nowMs: number, holds: Holds): void {
  const page = ring.entries.page(index);
  const slot = index & SLOT_MASK;
  if (page.epoch[slot] !== epoch) ring.toReady(index, nowMs);
  else if (isPlain(holds) || isGhost(page.pendingSinceMs[slot]!, nowMs, holds)) ring.toIdle(index);
  else {
    const revisitMs =
      holds.delayedMs > 0
        ? Math.min(emptyRevisitMaxMs, Math.max(emptyRevisitMinMs, holds.delayedMs))
        : emptyRevisitMinMs;
    ring.toWheel(index, nowMs + revisitMs);
  }
}

/**
 * On a queue that holds messages back, one "empty" may only mean "not yet". It is final once every message the last
 * mark or reseed row can have meant must be visible; without this, entries of such a queue would be looked at about
 * 18 times a second for ever.
 */
function isGhost(pendingSinceMs: number, nowMs: number, holds: Holds): boolean {
  return nowMs - pendingSinceMs >= Math.max(holds.delayedMs, holds.windowMs) + 2 * holds.padMs + ghostGraceMs;
}
