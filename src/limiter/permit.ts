/** What a permit says to the lane it came from. */
export interface PermitOwner {
  sampled(rttMs: number): void;
  timedOut(): void;
  released(key: string | null): void;
}

/**
 * The right to run one statement, or one fused transaction. Given back once whatever happens: a second release
 * is silent, and nothing is measured with a permit that is no longer held.
 */
export class Permit implements Disposable {
  private held = true;

  constructor(
    private readonly owner: PermitOwner,
    readonly key: string | null,
  ) {}

  /**
   * Records the time of a statement that succeeded, measured after the connection was taken. On the pop lane
   * only statements that delivered data: empty claims are many times faster and would drag the base down.
   */
  sample(rttMs: number): void {
    if (this.held) this.owner.sampled(rttMs);
  }

  /** The statement ran into its timeout. Other SQL errors say nothing about load and are not reported. */
  timedOut(): void {
    if (this.held) this.owner.timedOut();
  }

  release(): void {
    if (!this.held) return;
    this.held = false;
    this.owner.released(this.key);
  }

  [Symbol.dispose](): void {
    this.release();
  }
}
