import type { FastifyReply } from 'fastify';
import { sendJsonBytes, sendNoContent } from '../http/json-reply.js';
import type { Delivery } from './delivery.js';
import type { PopRequest } from './pop.request.js';

/** Delivery → 200 with messages, or 204 without a body. */
export function sendDelivery(reply: FastifyReply, request: PopRequest, delivery: Delivery): void {
  if (request.clamped !== '') void reply.header('queen-clamped', request.clamped);
  if (delivery.count === 0) sendNoContent(reply);
  else sendJsonBytes(reply, 200, (delivery as { body: Buffer }).body);
}
