import type { FastifyReply } from 'fastify';

export const JSON_TYPE = 'application/json; charset=utf-8';

/** Sends a value as JSON with a status; for the routes whose answers are small. */
export function sendJson(reply: FastifyReply, status: number, value: unknown): void {
  void reply.code(status).type(JSON_TYPE).send(JSON.stringify(value));
}

/** Sends finished JSON bytes: no serializer looks at them again. */
export function sendJsonBytes(reply: FastifyReply, status: number, bytes: Buffer): void {
  void reply.code(status).type(JSON_TYPE).send(bytes);
}

/**
 * 204 with nothing at all: no body, no length, no type. Announcing a length and sending nothing breaks kept-alive
 * connections of Node clients (seed, step 7).
 */
export function sendNoContent(reply: FastifyReply): void {
  void reply.code(204).removeHeader('content-type').removeHeader('content-length').send();
}
