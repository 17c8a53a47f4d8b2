import type { Candidate } from './ring.js';
import type { ClaimTerms, Verdict } from './verdict.js';

/** Puts the names of a check-out back: by verdict, or all as they were when there are none. */
export type GiveBack = (checkout: Checkout, verdicts: readonly Verdict[], terms: ClaimTerms) => void;

const noTerms: ClaimTerms = { autoAck: false, leaseMs: 0 };

/**
 * Names taken out of a ring for one claim, nobody else's until they are back (G4):
 *
 *   using names = hotlist.checkOut(…);
 *   const answer = await connection.call(…, names.list);
 *   names.checkIn(answer.verdicts, …);      // not reached if the call throws
 *
 * Leaving the block without a check-in appends all of them to the ready list again. Only the first of check-in,
 * dispose and expiry acts.
 */
export class Checkout {
  readonly list: string[];
  private isOut: boolean;

  constructor(
    readonly id: number,
    readonly takenAtMs: number,
    readonly candidates: readonly Candidate[],
    names: string[],
    private readonly giveBack: GiveBack,
  ) {
    this.list = names;
    this.isOut = names.length > 0;
  }

  /** Candidates without a verdict were not looked at and go back as they were; unknown names are ignored. */
  checkIn(verdicts: readonly Verdict[], terms: ClaimTerms): void {
    if (!this.isOut) return;
    this.isOut = false;
    this.giveBack(this, verdicts, terms);
  }

  [Symbol.dispose](): void {
    this.checkIn([], noTerms);
  }
}
