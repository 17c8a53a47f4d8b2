import type { FastifyInstance } from 'fastify';

declare module 'fastify' {
  interface FastifyRequest {
    /** The `sub` of a verified token, UTF-8; null without one. The only source of a message's `producerSub` (http-api 1.1). */
    subject: Buffer | null;
  }
}

export function knowSubjects(fastify: FastifyInstance): void {
  fastify.decorateRequest('subject', null);
}
