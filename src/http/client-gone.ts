import type { FastifyReply } from 'fastify';

/**
 * Aborted when the client closes the connection before its answer is finished. Ends waiting, never a statement
 * that has begun (serve-path 1.8).
 */
export function clientGone(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  const { raw } = reply;
  // It may have left while its request was on the way to here; the event is past then.
  if (raw.destroyed || raw.closed) controller.abort();
  raw.once('close', () => {
    if (!raw.writableFinished) controller.abort();
  });
  return controller.signal;
}
