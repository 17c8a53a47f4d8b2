/**
 * Runs `step` over [0, count) in pieces of at most `perTurn`, with a turn of the event loop between two: a request may
 * hold a quarter of a million acks, and nobody else should wait for all of them. One piece costs no turn.
 */
export async function inTurns(
  count: number,
  perTurn: number,
  step: (from: number, to: number) => void,
): Promise<void> {
  for (let from = 0; from < count; from += perTurn) {
    if (from > 0) await new Promise<void>((resolve) => setImmediate(resolve));
    step(from, Math.min(count, from + perTurn));
  }
}
