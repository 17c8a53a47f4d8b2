const FIRST_MS = 200;
const LONGEST_MS = 15_000;

/** A worker that served for so long and then ended is replaced at once. */
export const STEADY_MS = 10_000;

/**
 * How long the place of a worker stays empty, in milliseconds. Doubles with each worker in a row that ended soon after its
 * fork: what ends it is there for the next one too, and starting over and over would take the cores of those that serve.
 */
export function restartDelayMs(earlyEnds: number): number {
  return earlyEnds === 0 ? 0 : Math.min(LONGEST_MS, FIRST_MS * 2 ** (earlyEnds - 1));
}
