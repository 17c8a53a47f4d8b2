import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { JSON_TYPE } from './json-reply.js';

/**
 * Sends JSON that is put together piece by piece, so that a list of large payloads is never in memory as a whole.
 * Nothing is fetched ahead of a slow client; when it leaves, the source is ended.
 *
 * The first piece is awaited before the status goes out: what fails there is an ordinary error answer. What fails later
 * can only cut the connection, which a client sees as a body that ends too early.
 */
export async function sendJsonStream(
  reply: FastifyReply,
  status: number,
  pieces: AsyncGenerator<string>,
): Promise<void> {
  const first = await pieces.next();
  const stream = Readable.from(withFirst(first, pieces), { objectMode: false, highWaterMark: 1 });
  void reply.code(status).type(JSON_TYPE).send(stream);
}

async function* withFirst(
  first: IteratorResult<string, unknown>,
  rest: AsyncGenerator<string>,
): AsyncGenerator<Buffer> {
  try {
    if (first.done) return;
    yield Buffer.from(first.value);
    for await (const piece of rest) if (piece !== '') yield Buffer.from(piece);
  } finally {
    await rest.return(undefined);
  }
}
