import type { Access } from './access.js';

/**
 * What each route asks for (http-api 1.1), by method and path as it is routed. A route without a row asks for
 * `read-write`, so that a module which adds one is never open by accident; test/tidy/route-access.spec.ts compares
 * this table with the routes there are.
 *
 * Metrics are no `public` routes: JWT_SKIP_PATHS, whose default names them, can be set to close them.
 */
export const ROUTE_ACCESS: Readonly<Record<string, Access>> = {
  // A probe that has to authenticate restarts healthy brokers on the day its token expires.
  'GET /health': 'public',
  'HEAD /health': 'public',
  'GET /health/live': 'public',
  'HEAD /health/live': 'public',
  'GET /health/ready': 'public',
  'HEAD /health/ready': 'public',
  'GET /health/startup': 'public',
  'HEAD /health/startup': 'public',
  // They say what every copy of this program says.
  'GET /docs': 'public',
  'GET /docs/:asset': 'public',
  'GET /openapi.json': 'public',
  'GET /metrics': 'read-only',
  'GET /metrics/prometheus': 'read-only',
  'GET /status': 'read-only',

  'POST /api/v1/push': 'write-only',
  'GET /api/v1/pop': 'read-write',
  'GET /api/v1/pop/queue/:queue': 'read-write',
  'GET /api/v1/pop/queue/:queue/partition/:partition': 'read-write',
  'POST /api/v1/ack': 'read-write',
  'POST /api/v1/ack/batch': 'read-write',
  'POST /api/v1/lease/:leaseId/extend': 'read-write',
  'POST /api/v1/transaction': 'read-write',

  'POST /api/v1/configure': 'read-write',
  'GET /api/v1/resources/namespaces': 'read-only',
  'GET /api/v1/resources/overview': 'read-only',
  'GET /api/v1/resources/queues': 'read-only',
  'GET /api/v1/resources/queues/:queue': 'read-only',
  'GET /api/v1/resources/queues/:queue/depth': 'read-only',
  'GET /api/v1/resources/tasks': 'read-only',
  'DELETE /api/v1/resources/queues/:queue': 'admin',
  'POST /api/v1/resources/queues/:queue/pause': 'read-write',
  'POST /api/v1/resources/queues/:queue/resume': 'read-write',

  'GET /api/v1/consumer-groups': 'read-only',
  'GET /api/v1/consumer-groups/:group': 'read-only',
  'GET /api/v1/consumer-groups/lagging': 'read-only',
  'DELETE /api/v1/consumer-groups/:group': 'admin',
  'DELETE /api/v1/consumer-groups/:group/queues/:queue': 'admin',
  'POST /api/v1/consumer-groups/:group/subscription': 'read-write',
  'POST /api/v1/consumer-groups/:group/queues/:queue/seek': 'read-write',
  'POST /api/v1/consumer-groups/:group/queues/:queue/partitions/:partition/seek': 'read-write',

  'GET /api/v1/messages': 'read-only',
  'GET /api/v1/messages/:partitionId/:transactionId': 'read-only',
  'DELETE /api/v1/messages/:partitionId/:transactionId': 'read-write',
  'POST /api/v1/messages/:partitionId/:transactionId/retry': 'read-write',

  'GET /api/v1/dlq': 'read-only',
  'DELETE /api/v1/dlq': 'admin',
  'POST /api/v1/dlq/:id/replay': 'read-write',
  'POST /api/v1/dlq/replay': 'read-write',

  'POST /api/v1/traces': 'read-write',
  'GET /api/v1/traces/:partitionId/:transactionId': 'read-only',
  'GET /api/v1/traces/by-name/:traceName': 'read-only',
  'GET /api/v1/traces/names': 'read-only',

  'GET /api/v1/status': 'read-only',
  'GET /api/v1/status/analytics': 'read-only',
  'GET /api/v1/status/buffers': 'read-only',
  'GET /api/v1/status/queues': 'read-only',
  'GET /api/v1/status/queues/:queue': 'read-only',
  'POST /api/v1/stats/refresh': 'admin',

  'GET /api/v1/system/maintenance': 'admin',
  'POST /api/v1/system/maintenance': 'admin',
  'GET /api/v1/system/maintenance/pop': 'admin',
  'POST /api/v1/system/maintenance/pop': 'admin',
  'GET /api/v1/system/shared-state': 'admin',
};

/** @param url as routed, with its `:parameters` */
export function accessTo(method: string, url: string): Access {
  return ROUTE_ACCESS[`${method} ${url}`] ?? 'read-write';
}

/** Belongs to the broker and not to one tenant: whoever may act for one tenant only has no business there. */
export function isShared(url: string): boolean {
  return !url.startsWith('/api/') || url.startsWith('/api/v1/system/');
}
