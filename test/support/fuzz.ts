import type { Parameters } from 'fast-check';

/*
 * Fuzz tests have two lives. In the suite they are bounded and always the same: a fixed seed, a number of runs, and no more
 * than twenty seconds. With FUZZ_SECONDS each goes on for that long from a seed of its own (FUZZ_SEED repeats one).
 */
const SECONDS = Number(process.env.FUZZ_SECONDS ?? 0);
const SECONDS_USUAL = 20;
const SEED_USUAL = 1_208_530;

/** For fc.assert. A failure prints seed and path, so that it can be had again. */
export function fuzz<T>(numRuns: number): Parameters<T> {
  if (SECONDS === 0) return { numRuns, seed: SEED_USUAL, interruptAfterTimeLimit: SECONDS_USUAL * 1000 };
  const seed = Number(process.env.FUZZ_SEED ?? Date.now() & 0x7fffffff);
  return { numRuns: Number.MAX_SAFE_INTEGER, seed, interruptAfterTimeLimit: SECONDS * 1000 };
}

/** Time limit of a fuzz test, far beyond what it takes. */
export const FUZZ_TIMEOUT_MS = 60_000 + SECONDS * 2000;
