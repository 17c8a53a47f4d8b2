import { openSync, readdirSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/*
 * What everybody did and saw, as JSON lines, a file per process. A step of the workload is two lines: one before the
 * request leaves, one when the answer is here. Both are written before anything else happens, so a process that is
 * killed has told all it knew.
 *
 *   {"t":microseconds,"op":n,"do":"push",…what was asked}
 *   {"t":microseconds,"op":n,"end":"ok"|"unknown",…what was answered}
 *
 * `ok`: the answer was read to its end and says what happened. `unknown`: it may have happened or not, or may still.
 */

/** Microseconds of the machine's monotonic clock, which all processes share. */
export const nowUs = () => Number(process.hrtime.bigint() / 1000n);

export class History {
  constructor(directory, by) {
    this.by = by;
    this.fd = openSync(join(directory, `${by}.jsonl`), 'a');
    this.ops = 0;
  }

  /** Something is about to be asked; the number is for end(). */
  start(what, asked) {
    const op = this.ops++;
    this.write({ t: nowUs(), op, do: what, ...asked });
    return op;
  }

  end(op, how, answered = {}) {
    this.write({ t: nowUs(), op, end: how, ...answered });
  }

  /** Something that happened, without a beginning and an end. */
  note(what, fields) {
    this.end(this.start(what, fields), 'ok');
  }

  write(line) {
    writeSync(this.fd, `${JSON.stringify(line)}\n`);
  }
}

/** All files of a run as one list of steps, see stepsOf(). */
export function readHistory(directory) {
  const files = readdirSync(directory).filter((name) => name.endsWith('.jsonl'));
  return stepsOf(
    files.map((name) => ({
      by: name.slice(0, -'.jsonl'.length),
      lines: readFileSync(join(directory, name), 'utf8').split('\n').filter(Boolean),
    })),
  );
}

/**
 * Both lines of each step together, by time of the first: what was asked beside `do`, `by`, `startUs`; how it ended in
 * `outcome` (`ok`, `unknown`, or `open` when its process was gone) with `endUs` (infinite when open) and `answer`.
 */
export function stepsOf(files) {
  const steps = [];
  for (const { by, lines } of files) {
    const open = new Map();
    for (const line of lines) {
      const { t, op, end, ...rest } = JSON.parse(line);
      if (end === undefined) {
        const step = { by, ...rest, startUs: t, endUs: Infinity, outcome: 'open', answer: null };
        open.set(op, step);
        steps.push(step);
      } else {
        Object.assign(open.get(op), { endUs: t, outcome: end, answer: rest });
      }
    }
  }
  return steps.sort((a, b) => a.startUs - b.startUs);
}
