import type { WaitList } from './wait-list.js';

/** At most one wake in this time and pop, over any longer stretch: 200 a second. */
export const wakeGapMs = 5;
/** Looks in a row that a ring full of false positives may cause without a pause. */
const burnThrough = 8;

/**
 * One pop's place at a gate, from before its first look to the end of its request; hold it with `using`, the gate is
 * dropped with its last ticket. It remembers what the pop has seen, so that no wake between looking and parking is
 * lost, and how often it was woken, so that a hot queue cannot spin a pop that finds nothing for its own group.
 *
 * Wakes are paid for at 5 ms each and one may be owed: a first wake that comes while the pop is looking is
 * answered at once, the next one waits.
 */
export class WakeTicket implements Disposable {
  /** The last park ended with a wake; parking again means that the look after it found nothing. */
  wokenLast = false;
  private seenSeq: number;
  private paidUntilMs: number;
  private looksInARow = 0;
  private held = true;

  /**
   * @param isQueueWide the ring speaks for this pop, so a quiet ring is reason enough not to wake it
   * @param giveBack called once, when the ticket is disposed
   */
  constructor(
    readonly list: WaitList,
    readonly isQueueWide: boolean,
    private readonly giveBack: () => void,
    nowMs: number,
  ) {
    list.tickets += 1;
    this.seenSeq = list.seq;
    this.paidUntilMs = nowMs + wakeGapMs; // for the look that is about to begin
  }

  /** Call before every look: an opening from here on makes the next park answer at once. */
  refresh(): void {
    this.seenSeq = this.list.seq;
  }

  /** Opened since the last `refresh`. */
  get missedOpening(): boolean {
    return this.list.seq !== this.seenSeq;
  }

  /** From when on another wake is within the allowance. */
  get lookAgainAtMs(): number {
    return this.paidUntilMs - wakeGapMs;
  }

  /** One more look without a pause, because the ring says there is work: true eight times, then once false. */
  mayBurnThrough(): boolean {
    if (this.looksInARow >= burnThrough) {
      this.looksInARow = 0;
      return false;
    }
    this.looksInARow += 1;
    return true;
  }

  /** It lies down on its list: the run of looks is over. */
  liesDown(): void {
    this.looksInARow = 0;
  }

  woken(nowMs: number): void {
    this.wokenLast = true;
    // Bounded: wakes that brought work are not limited and must not pile up into a long debt.
    this.paidUntilMs = Math.min(Math.max(this.paidUntilMs, nowMs) + wakeGapMs, nowMs + 2 * wakeGapMs);
  }

  [Symbol.dispose](): void {
    if (!this.held) return;
    this.held = false;
    this.list.tickets -= 1;
    this.giveBack();
  }
}
