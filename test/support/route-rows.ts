import type { Role } from '../../src/auth/access.js';

/** What a request of the matrix speaks of; a route's path and body are made from it. */
export interface Names {
  queue: string;
  partition: string;
  group: string;
  namespace: string;
  trace: string;
  transactionId: string;
  leasedTransactionId: string;
  partitionId: string;
  leaseId: string;
  letterId: string;
}

export interface RouteRow {
  /** As routed. */
  route: string;
  /** Written down from the interface's description, not from the broker's own table. */
  asks: Role | 'public';
  /** Belongs to no tenant: a token of one tenant is refused. */
  shared?: boolean;
  query?: (names: Names) => string;
  body?: (names: Names) => unknown;
  /** The status for somebody who may, and whose things these are. */
  own: number;
  /** The status when they are another tenant's, or do not exist at all: the two must not differ. */
  other: number;
}

const ack = (names: Names) => ({
  transactionId: names.leasedTransactionId,
  partitionId: names.partitionId,
  leaseId: names.leaseId,
  status: 'completed',
});

/**
 * Every route, in an order in which each finds what it speaks of: those that look, then those that change, then those
 * that delete.
 */
export const ROUTE_ROWS: readonly RouteRow[] = [
  { route: 'GET /health', asks: 'public', own: 200, other: 200 },
  { route: 'HEAD /health', asks: 'public', own: 200, other: 200 },
  { route: 'GET /health/live', asks: 'public', own: 200, other: 200 },
  { route: 'HEAD /health/live', asks: 'public', own: 200, other: 200 },
  { route: 'GET /health/ready', asks: 'public', own: 200, other: 200 },
  { route: 'HEAD /health/ready', asks: 'public', own: 200, other: 200 },
  { route: 'GET /health/startup', asks: 'public', own: 200, other: 200 },
  { route: 'HEAD /health/startup', asks: 'public', own: 200, other: 200 },
  { route: 'GET /docs', asks: 'public', own: 200, other: 200 },
  { route: 'GET /docs/:asset', asks: 'public', own: 200, other: 200 },
  { route: 'GET /openapi.json', asks: 'public', own: 200, other: 200 },
  { route: 'GET /metrics', asks: 'read-only', shared: true, own: 200, other: 200 },
  { route: 'GET /metrics/prometheus', asks: 'read-only', shared: true, own: 200, other: 200 },
  { route: 'GET /status', asks: 'read-only', shared: true, own: 200, other: 200 },

  { route: 'GET /api/v1/resources/queues', asks: 'read-only', own: 200, other: 200 },
  { route: 'GET /api/v1/resources/queues/:queue', asks: 'read-only', own: 200, other: 404 },
  { route: 'GET /api/v1/resources/queues/:queue/depth', asks: 'read-only', own: 200, other: 404 },
  { route: 'GET /api/v1/resources/namespaces', asks: 'read-only', own: 200, other: 200 },
  { route: 'GET /api/v1/resources/overview', asks: 'read-only', own: 200, other: 200 },
  { route: 'GET /api/v1/resources/tasks', asks: 'read-only', own: 200, other: 200 },
  { route: 'GET /api/v1/consumer-groups', asks: 'read-only', own: 200, other: 200 },
  { route: 'GET /api/v1/consumer-groups/lagging', asks: 'read-only', own: 200, other: 200 },
  { route: 'GET /api/v1/consumer-groups/:group', asks: 'read-only', own: 200, other: 200 },
  {
    route: 'GET /api/v1/messages',
    asks: 'read-only',
    query: ({ queue, partition }) => `queue=${queue}&partition=${partition}`,
    own: 200,
    other: 200,
  },
  { route: 'GET /api/v1/messages/:partitionId/:transactionId', asks: 'read-only', own: 200, other: 404 },
  {
    route: 'GET /api/v1/dlq',
    asks: 'read-only',
    query: ({ queue }) => `queue=${queue}`,
    own: 200,
    other: 200,
  },
  { route: 'GET /api/v1/traces/names', asks: 'read-only', own: 200, other: 200 },
  { route: 'GET /api/v1/traces/by-name/:traceName', asks: 'read-only', own: 200, other: 200 },
  { route: 'GET /api/v1/traces/:partitionId/:transactionId', asks: 'read-only', own: 200, other: 200 },
  { route: 'GET /api/v1/status', asks: 'read-only', own: 200, other: 200 },
  { route: 'GET /api/v1/status/analytics', asks: 'read-only', own: 200, other: 200 },
  { route: 'GET /api/v1/status/buffers', asks: 'read-only', own: 200, other: 200 },
  { route: 'GET /api/v1/status/queues', asks: 'read-only', own: 200, other: 200 },
  { route: 'GET /api/v1/status/queues/:queue', asks: 'read-only', own: 200, other: 404 },
  { route: 'GET /api/v1/system/maintenance', asks: 'admin', shared: true, own: 200, other: 200 },
  { route: 'GET /api/v1/system/maintenance/pop', asks: 'admin', shared: true, own: 200, other: 200 },
  { route: 'GET /api/v1/system/shared-state', asks: 'admin', shared: true, own: 200, other: 200 },

  { route: 'GET /api/v1/pop/queue/:queue', asks: 'read-write', own: 200, other: 204 },
  { route: 'GET /api/v1/pop/queue/:queue/partition/:partition', asks: 'read-write', own: 204, other: 204 },
  {
    route: 'GET /api/v1/pop',
    asks: 'read-write',
    query: ({ namespace }) => `namespace=${namespace}&consumerGroup=discovery`,
    own: 200,
    other: 204,
  },
  { route: 'POST /api/v1/lease/:leaseId/extend', asks: 'read-write', own: 200, other: 200 },
  {
    route: 'POST /api/v1/ack',
    asks: 'read-write',
    body: (names) => ({ ...ack(names), consumerGroup: names.group }),
    own: 200,
    other: 200,
  },
  {
    route: 'POST /api/v1/ack/batch',
    asks: 'read-write',
    body: (names) => ({ consumerGroup: names.group, acknowledgments: [ack(names)] }),
    own: 200,
    other: 200,
  },
  {
    route: 'POST /api/v1/transaction',
    asks: 'read-write',
    body: (names) => ({ operations: [{ type: 'ack', ...ack(names), consumerGroup: names.group }] }),
    own: 200,
    other: 200,
  },
  {
    route: 'POST /api/v1/traces',
    asks: 'read-write',
    body: ({ partitionId, transactionId, trace }) => ({
      partitionId,
      transactionId,
      traceNames: [trace],
      data: {},
    }),
    own: 201,
    other: 404,
  },
  {
    route: 'POST /api/v1/configure',
    asks: 'read-write',
    body: ({ queue }) => ({ queue: `new-${queue}`, options: { leaseTime: 60 } }),
    own: 200,
    other: 200,
  },
  { route: 'POST /api/v1/resources/queues/:queue/pause', asks: 'read-write', own: 200, other: 200 },
  { route: 'POST /api/v1/resources/queues/:queue/resume', asks: 'read-write', own: 200, other: 200 },
  {
    route: 'POST /api/v1/consumer-groups/:group/subscription',
    asks: 'read-write',
    body: () => ({ subscriptionTimestamp: '2026-01-01T00:00:00Z' }),
    own: 200,
    other: 200,
  },
  {
    route: 'POST /api/v1/consumer-groups/:group/queues/:queue/partitions/:partition/seek',
    asks: 'read-write',
    body: () => ({ toEnd: true }),
    own: 200,
    other: 404,
  },
  {
    route: 'POST /api/v1/consumer-groups/:group/queues/:queue/seek',
    asks: 'read-write',
    body: () => ({ toEnd: true }),
    own: 200,
    other: 404,
  },
  {
    route: 'POST /api/v1/dlq/replay',
    asks: 'read-write',
    body: ({ queue }) => ({ queue, dryRun: true }),
    own: 200,
    other: 200,
  },
  {
    route: 'POST /api/v1/messages/:partitionId/:transactionId/retry',
    asks: 'read-write',
    own: 200,
    other: 404,
  },
  { route: 'POST /api/v1/dlq/:id/replay', asks: 'read-write', own: 404, other: 404 },
  {
    route: 'POST /api/v1/push',
    asks: 'write-only',
    body: ({ queue, partition }) => ({ items: [{ queue, partition, payload: 1 }] }),
    own: 201,
    other: 201,
  },
  { route: 'POST /api/v1/stats/refresh', asks: 'admin', own: 200, other: 200 },
  {
    route: 'POST /api/v1/system/maintenance',
    asks: 'admin',
    shared: true,
    body: () => ({ enabled: false }),
    own: 200,
    other: 200,
  },
  {
    route: 'POST /api/v1/system/maintenance/pop',
    asks: 'admin',
    shared: true,
    body: () => ({ enabled: false }),
    own: 200,
    other: 200,
  },

  { route: 'DELETE /api/v1/messages/:partitionId/:transactionId', asks: 'read-write', own: 404, other: 404 },
  {
    route: 'DELETE /api/v1/dlq',
    asks: 'admin',
    query: ({ queue }) => `queue=${queue}`,
    own: 200,
    other: 200,
  },
  { route: 'DELETE /api/v1/consumer-groups/:group/queues/:queue', asks: 'admin', own: 200, other: 200 },
  { route: 'DELETE /api/v1/consumer-groups/:group', asks: 'admin', own: 200, other: 200 },
  { route: 'DELETE /api/v1/resources/queues/:queue', asks: 'admin', own: 200, other: 200 },
];

/** Who holds a role may do what routes ask that stand beside it (http-api 1.1). */
export const MAY: Readonly<Record<Role | 'nobody', readonly string[]>> = {
  nobody: [],
  'write-only': ['write-only'],
  'read-only': ['read-only'],
  'read-write': ['write-only', 'read-only', 'read-write'],
  admin: ['write-only', 'read-only', 'read-write', 'admin'],
};

/** The request of a row, with these names put in. */
export function requestOf(
  { route, query, body }: RouteRow,
  names: Names,
): [method: string, path: string, body?: string] {
  const [method, pattern] = route.split(' ');
  const values: Record<string, string> = {
    ...names,
    ...{ traceName: names.trace, id: names.letterId, asset: 'swagger-ui.css' },
  };
  const path = pattern.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(values[name]));
  const text = body ? JSON.stringify(body(names)) : undefined;
  return [method, query ? `${path}?${query(names)}` : path, text];
}
