/*
 * How a process that makes load talks to the one that measures: it prints "ready" when it is warm, begins when a line
 * comes, prints its result as one JSON line, and leaves when whoever wants the result is gone.
 */

/** @param {() => Promise<object>} warmUp before "ready"; @param {() => Promise<object>} run whose result is printed */
export async function whenTold(warmUp, run) {
  process.stdin.once('end', () => process.exit(1));
  const told = new Promise((resolve) => process.stdin.once('data', resolve));
  await warmUp();
  process.stdout.write('ready\n');
  await told;
  const result = await run();
  process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0));
}

/** A short run of the same kind on a queue of its own: what is measured cold is the start of the engine, not the work. */
export function warmUpOf(plan) {
  return {
    ...plan,
    queue: `${plan.queue}-warm-up`,
    ratePerSecond: undefined,
    backlog: 0,
    untilSeconds: false,
    producers: Math.max(plan.producers, 2),
    seconds: 10,
    messages: 1500 * plan.batch,
    aheadMax: 100 * plan.batch,
  };
}
