const EVERY_MS = 10_000;
/** Kinds are words of the code with a code or a route; should one grow all the same, memory does not. */
const KINDS_MAX = 500;

interface Kind {
  passedAtMs: number;
  heldBack: number;
}

/**
 * Lets one line of each kind through in so long a time: what fails a thousand requests a second is one event to whoever
 * reads the log (serve-path 8.2). The next line that passes says how many were held back before it.
 */
export class LogSampler {
  private readonly kinds = new Map<string, Kind>();

  constructor(
    private readonly nowMs: () => number = () => performance.now(),
    private readonly everyMs = EVERY_MS,
  ) {}

  /** The line to write; null when it is held back. */
  pass(kind: string, line: string): string | null {
    const nowMs = this.nowMs();
    const known = this.kinds.get(kind);
    if (known && nowMs - known.passedAtMs < this.everyMs) {
      known.heldBack += 1;
      return null;
    }
    const heldBack = known?.heldBack ?? 0;
    if (!known && this.kinds.size >= KINDS_MAX) this.kinds.clear();
    this.kinds.set(kind, { passedAtMs: nowMs, heldBack: 0 });
    return heldBack === 0 ? line : `${line} (${heldBack} more like it since the last line)`;
  }
}
