import { parseArgs } from 'node:util';

/** `--minutes` (2), `--seed` (a fresh one), `--keep` the directory of the run, `--check` one that was kept. */
export function readOptions(args) {
  const { values } = parseArgs({
    args,
    options: {
      minutes: { type: 'string', default: '2' },
      seed: { type: 'string', default: String(Math.floor(Math.random() * 1_000_000_000)) },
      keep: { type: 'boolean', default: false },
      check: { type: 'string' },
    },
  });
  const minutes = Number(values.minutes);
  if (!(minutes > 0 && minutes <= 600)) throw new Error('--minutes must be a number between 0 and 600');
  return { ...values, minutes };
}
