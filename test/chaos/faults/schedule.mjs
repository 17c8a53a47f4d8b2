import { random } from '../random.mjs';
import { FAULTS } from './faults.mjs';

/** Faults begin after this time, when everybody has made first contact, and end this long before the end. */
const QUIET_MS = 2000;

/**
 * What goes wrong and when, from the seed alone: faults by time, each with the side or worker it strikes and how long it
 * lasts. They overlap now and then.
 */
export function schedule(seed, totalMs) {
  const dice = random(`${seed} faults`);
  const weights = Object.fromEntries(Object.entries(FAULTS).map(([kind, { weight }]) => [kind, weight]));
  const planned = [];
  for (let atMs = QUIET_MS; atMs < totalMs - QUIET_MS; atMs += dice.int(500, 4000)) {
    const kind = dice.weighted(weights);
    const [shortest, longest] = FAULTS[kind].lastsMs;
    planned.push({
      kind,
      atMs,
      lastsMs: dice.int(shortest, longest),
      at: dice.int(0, 999),
      dial: dice.int(0, 999),
    });
  }
  return planned;
}
