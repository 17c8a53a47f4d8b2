import { BrokerError } from '../base/errors/broker-error.js';
import { timestampText } from '../base/time/iso-micros.js';
import { ListQuery } from '../http/list-query.js';
import type { QueueFilter, TimeRange } from './status.procedures.js';

export const LIMIT = { default: 100, min: 1, max: 1000 };
export const OFFSET = { default: 0, min: 0, max: 2_147_483_647 };
const HOUR_MS = 3_600_000;
const INTERVAL_MS = { minute: 60_000, hour: HOUR_MS, day: 24 * HOUR_MS };
/** More would be a chart that nobody can read, and a large answer. */
export const POINTS_MAX = 10_000;

export type StatusRequest = QueueFilter & TimeRange;

/** `from`, `to` (the last hour), `queue`, `namespace`, `task`. @throws BrokerError `bad_parameter` */
export function parseStatus(url: string, tenant: string): StatusRequest {
  const query = new ListQuery(url);
  const { from, to } = rangeOf(query);
  return { ...filterOf(query, tenant), from: textOf(from), to: textOf(to) };
}

/**
 * As `parseStatus`, over the last day, with `interval`. `nowMs` only judges how long a range without an end is.
 * @throws BrokerError `bad_parameter`
 */
export function parseAnalytics(
  url: string,
  tenant: string,
  nowMs: number,
): StatusRequest & { interval: keyof typeof INTERVAL_MS } {
  const query = new ListQuery(url);
  const interval = query.oneOf('interval', ['minute', 'hour', 'day']) ?? 'hour';
  const { from, to } = rangeOf(query);
  if (from !== null && ((to ?? nowMs * 1000) - from) / 1000 > POINTS_MAX * INTERVAL_MS[interval]) {
    throw new BrokerError(
      'bad_parameter',
      `from and to are more than ${POINTS_MAX} intervals apart: choose a longer interval`,
    );
  }
  return { ...filterOf(query, tenant), interval, from: textOf(from), to: textOf(to) };
}

/** `limit` (100), `offset`, `queue`, `namespace`, `task`. @throws BrokerError `bad_parameter` */
export function parseStatusQueues(
  url: string,
  tenant: string,
): QueueFilter & { limit: number; offset: number } {
  const query = new ListQuery(url);
  return {
    ...filterOf(query, tenant),
    limit: query.integer('limit', LIMIT),
    offset: query.integer('offset', OFFSET),
  };
}

function filterOf(query: ListQuery, tenant: string): QueueFilter {
  return { tenant, queue: query.text('queue'), namespace: query.text('namespace'), task: query.text('task') };
}

/** In microseconds, null where the client named none. */
function rangeOf(query: ListQuery): { from: number | null; to: number | null } {
  const from = query.instant('from');
  const to = query.instant('to');
  if (from !== null && to !== null && from > to) {
    throw new BrokerError('bad_parameter', 'from must not be after to');
  }
  return { from, to };
}

function textOf(micros: number | null): string | null {
  return micros === null ? null : timestampText(micros);
}
