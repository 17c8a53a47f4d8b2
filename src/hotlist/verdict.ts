/** What PostgreSQL said of one candidate. A candidate without a verdict was not looked at. */
export interface Verdict {
  partition: string;
  /** Remembered, so that an ack that knows only the id finds the entry. */
  partitionId?: string;
  /**
   * `took`: messages were claimed. `leased`: pending, but not for us now (a lease, a delay, a lost lock race).
   * `empty`: nothing pending in that snapshot; never said while something is (Z8).
   */
  state: 'took' | 'leased' | 'empty';
  /** With `took`: the claim reached the end of the partition. */
  drained?: boolean;
  /** With `leased`: milliseconds from now until a look is worth it. */
  waitMs?: number;
}

/** How the claim was made. */
export interface ClaimTerms {
  autoAck: boolean;
  /** Length of the leases this claim wrote; without meaning for auto-ack. */
  leaseMs: number;
}
