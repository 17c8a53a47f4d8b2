import { ListQuery } from './list-query.js';

/** A page of a queue's partitions, which are listed by name. */
export interface PartitionPage {
  readonly limit: number;
  readonly offset: number;
  /** The page begins behind this name; null: with the first. */
  readonly after: string | null;
}

export const LIMIT = { default: 1000, min: 1, max: 1000 };
export const OFFSET = { default: 0, min: 0, max: 2_147_483_647 };

/**
 * `limit`, `offset` and `after` of a queue's detail routes. An `after` without a value names the empty partition, which
 * sorts first: it is how a walk goes on behind it.
 * @throws BrokerError `bad_parameter`
 */
export function partitionPage(url: string): PartitionPage {
  const query = new ListQuery(url);
  const after = query.text('after') ?? (query.has('after') ? '' : null);
  return { limit: query.integer('limit', LIMIT), offset: query.integer('offset', OFFSET), after };
}
