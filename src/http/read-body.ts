import { gunzip } from 'node:zlib';
import { promisify } from 'node:util';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { BrokerError } from '../base/errors/broker-error.js';

const inflate = promisify(gunzip);

/**
 * Every body arrives as bytes, whatever its content type says (clients send JSON without naming it, and name it on
 * requests without a body). gzip is inflated up to the same limit as a plain body: 100 KB can hold 100 MB of zeros.
 */
export function readBodiesAsBytes(fastify: FastifyInstance, bodyBytesMax: number): void {
  // Not even looked at: a malformed type would otherwise fail a request whose body is fine.
  fastify.addHook('onRequest', (request, _reply, done) => {
    request.raw.headers['content-type'] = undefined;
    done();
  });
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser(
    '*',
    { parseAs: 'buffer', bodyLimit: bodyBytesMax },
    async (request: FastifyRequest, body: Buffer): Promise<Buffer> => {
      const encoding = request.headers['content-encoding']?.trim().toLowerCase();
      if (!encoding || encoding === 'identity') return body;
      if (encoding !== 'gzip' && encoding !== 'x-gzip') throw new BrokerError('unsupported_encoding');
      try {
        return await inflate(body, { maxOutputLength: bodyBytesMax });
      } catch (cause) {
        if ((cause as { code?: string }).code === 'ERR_BUFFER_TOO_LARGE')
          throw new BrokerError('body_too_large');
        throw new BrokerError('bad_body', 'bad body: the gzip data is damaged');
      }
    },
  );
}

const EMPTY = Buffer.alloc(0);

/** The body as bytes; empty when there was none. */
export function bodyOf(request: FastifyRequest): Buffer {
  return Buffer.isBuffer(request.body) ? request.body : EMPTY;
}
