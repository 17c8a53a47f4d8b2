/** About a microsecond of work each: one message moved, or 1 KiB of payload compressed and checksummed. */
const UNITS_PER_TURN = 2_000;

/**
 * Cuts long work into turns of the event loop, so that a push of 64 MiB does not hold up everybody else. Counts work
 * instead of reading a clock, so that the same input is cut in the same places.
 */
export class TurnBudget {
  private left = UNITS_PER_TURN;

  /** Something to await when this turn has done enough; nothing, for free, while it has not. */
  spend(units: number): Promise<void> | undefined {
    this.left -= units;
    if (this.left > 0) return undefined;
    this.left = UNITS_PER_TURN;
    return new Promise((resolve) => setImmediate(resolve));
  }
}
