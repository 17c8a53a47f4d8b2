import type { Readable } from 'node:stream';
import { expect, it } from '@jest/globals';
import type { FastifyReply } from 'fastify';
import { sendJsonStream } from './json-stream.js';

class FakeReply {
  status: number | null = null;
  sent: Readable | null = null;

  code(status: number): this {
    this.status = status;
    return this;
  }

  type(): this {
    return this;
  }

  send(stream: Readable): void {
    this.sent = stream;
  }
}

/** A source that tells what was asked of it. */
function source(pieces: (string | Error)[]) {
  const log: string[] = [];
  async function* generate(): AsyncGenerator<string> {
    try {
      for (const piece of pieces) {
        await Promise.resolve();
        if (piece instanceof Error) throw piece;
        log.push(piece);
        yield piece;
      }
    } finally {
      log.push('ended');
    }
  }
  return { log, pieces: generate() };
}

async function send(pieces: AsyncGenerator<string>) {
  const reply = new FakeReply();
  await sendJsonStream(reply as unknown as FastifyReply, 200, pieces);
  return reply;
}

it('sends all pieces in order', async () => {
  const { log, pieces } = source(['[1', '', ',2', ']']);
  const reply = await send(pieces);
  expect(reply.status).toBe(200);
  expect(Buffer.concat(await reply.sent!.toArray()).toString()).toBe('[1,2]');
  expect(log.at(-1)).toBe('ended');
});

it('fails before anything is sent when the first piece does', async () => {
  const { pieces } = source([new Error('no connection')]);
  const reply = new FakeReply();
  await expect(sendJsonStream(reply as unknown as FastifyReply, 200, pieces)).rejects.toThrow(
    'no connection',
  );
  expect([reply.status, reply.sent]).toEqual([null, null]);
});

it('breaks the stream when a later piece fails', async () => {
  const { pieces } = source(['[1', new Error('cut')]);
  const reply = await send(pieces);
  await expect(reply.sent!.toArray()).rejects.toThrow('cut');
});

it('fetches nothing ahead of its reader, and ends the source when the reader leaves', async () => {
  const { log, pieces } = source(['[1', ',2', ',3', ',4', ']']);
  const { sent } = await send(pieces);
  expect(log).toEqual(['[1']);
  for await (const chunk of sent!) {
    expect(String(chunk)).toBe('[1');
    break; // as when the connection is closed
  }
  expect(log).toContain('ended');
  expect(log).not.toContain(',4');
});
