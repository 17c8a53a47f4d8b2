import { brokerVersion, ENGINE } from '../../base/version.js';
import type { Answer, Area, OperationSpec } from '../operation.js';
import { always, mapOf, object, oneOfTexts, ref, text, number, count } from '../schema.js';

const UP = { status: 'up' };

function report(about: string, status: 'ok' | 'error', details: Record<string, object>): Answer {
  const up = Object.entries(details).filter(
    ([, { status: one }]: [string, { status?: string }]) => one === 'up',
  );
  const down = Object.entries(details).filter(
    ([, { status: one }]: [string, { status?: string }]) => one !== 'up',
  );
  return {
    about,
    schema: ref('HealthReport'),
    example: { status, info: Object.fromEntries(up), error: Object.fromEntries(down), details },
  };
}

const live: Pick<OperationSpec, 'answers'> = {
  answers: { 200: report('The process turns its loop.', 'ok', {}) },
};

const ready: Pick<OperationSpec, 'answers'> = {
  answers: {
    200: report('It may be sent work.', 'ok', { draining: UP, database: UP }),
    503: report('It may not: it is stopping, or PostgreSQL cannot be written to.', 'error', {
      draining: UP,
      database: { status: 'down', verdict: 'away' },
    }),
  },
};

const started: Pick<OperationSpec, 'answers'> = {
  answers: {
    200: report('The database is prepared; it never goes back.', 'ok', {}),
    503: report('Not yet.', 'error', { startup: { status: 'down', message: 'this broker is starting' } }),
  },
};

const overall: Pick<OperationSpec, 'answers'> = {
  answers: Object.fromEntries(
    (
      [
        [200, 'healthy', 'connected'],
        [503, 'unhealthy', 'disconnected'],
      ] as const
    ).map(([status, state, database]) => [
      status,
      {
        about: state,
        schema: object({
          status: always(state),
          database: always(database),
          engine: text(),
          version: text(),
        }),
        example: { status: state, database, engine: ENGINE, version: brokerVersion },
      },
    ]),
  ),
};

/** As the operation with GET, without a body. */
function head(id: string, summary: string, { answers }: Pick<OperationSpec, 'answers'>): OperationSpec {
  const bare = Object.entries(answers).map(([status, { about }]) => [status, { about }]);
  return { id, summary, answers: Object.fromEntries(bare) as OperationSpec['answers'] };
}

export const probesArea: Area = {
  name: 'Probes and metrics',
  about: 'For people, load balancers, Kubernetes and Prometheus.',
  schemas: {
    HealthReport: object({
      status: oneOfTexts(['ok', 'error', 'degraded', 'shutting_down']),
      'info?': mapOf(ref('HealthOfOne'), 'Those that are up.'),
      'error?': mapOf(ref('HealthOfOne'), 'Those that are down.'),
      details: mapOf(ref('HealthOfOne')),
    }),
    HealthOfOne: object({ status: oneOfTexts(['up', 'down']), 'verdict?': text(), 'message?': text() }),
  },
  operations: {
    'GET /health': { id: 'health', summary: 'Whether the broker and its database are well', ...overall },
    'HEAD /health': head('healthHead', 'As GET, without a body', overall),
    'GET /health/live': {
      id: 'healthLive',
      summary: 'Whether the process should be left running',
      about: 'Independent of PostgreSQL: restarting a broker does not bring it back.',
      ...live,
    },
    'HEAD /health/live': head('healthLiveHead', 'As GET, without a body', live),
    'GET /health/startup': {
      id: 'healthStartup',
      summary: 'Whether the broker has started',
      ...started,
    },
    'HEAD /health/startup': head('healthStartupHead', 'As GET, without a body', started),
    'GET /health/ready': {
      id: 'healthReady',
      summary: 'Whether the broker may be sent work',
      ...ready,
    },
    'HEAD /health/ready': head('healthReadyHead', 'As GET, without a body', ready),
    'GET /status': {
      id: 'liveness',
      summary: 'Whether there is a broker',
      answers: {
        200: {
          about: 'There is. Asks nobody else.',
          schema: object({ status: always('ok'), engine: text() }),
          example: { status: 'ok', engine: ENGINE },
        },
      },
    },
    'GET /metrics/prometheus': {
      id: 'metrics',
      summary: 'The metrics of this broker, for Prometheus',
      answers: {
        200: {
          about: 'Never asks PostgreSQL.',
          mediaType: 'text/plain',
          schema: text(),
          example:
            '# HELP queen_uptime_seconds Age of the process.\n# TYPE queen_uptime_seconds gauge\nqueen_uptime_seconds 12\n',
          headers: { 'Cache-Control': text() },
        },
      },
    },
    'GET /metrics': {
      id: 'metricsJson',
      summary: 'A few numbers of this broker as JSON',
      about: 'For older clients.',
      answers: {
        200: {
          about: 'Since the start of the process.',
          schema: object({
            uptime: number('Seconds.'),
            requests: object({ total: count(), rate: always(0) }),
            messages: object({ total: count(), rate: always(0) }),
            database: object({ poolSize: count(), idleConnections: count(), waitingRequests: count() }),
            memory: object(
              {
                rss: count(),
                heapTotal: count(),
                heapUsed: count(),
                external: count(),
                arrayBuffers: count(),
              },
              'Bytes.',
            ),
            cpu: object({ user: count(), system: count() }, 'Microseconds.'),
          }),
          example: {
            uptime: 12.5,
            requests: { total: 150, rate: 0 },
            messages: { total: 336, rate: 0 },
            database: { poolSize: 4, idleConnections: 4, waitingRequests: 0 },
            memory: { rss: 1e8, heapTotal: 5e7, heapUsed: 4e7, external: 5e6, arrayBuffers: 1e6 },
            cpu: { user: 1_000_000, system: 200_000 },
          },
        },
      },
    },
  },
};
