import { ListQuery } from '../http/list-query.js';

export const MESSAGE_STATUSES = ['pending', 'processing', 'completed', 'dead_letter'] as const;
export type MessageStatus = (typeof MESSAGE_STATUSES)[number];

/** Null means any. */
export interface MessageListRequest {
  readonly tenant: string;
  readonly queue: string | null;
  readonly partition: string | null;
  readonly namespace: string | null;
  readonly task: string | null;
  readonly status: MessageStatus | null;
  /** Microseconds since the epoch; null: an hour ago, by the database's clock. */
  readonly from: number | null;
  /** Its whole minute counts; null: now. */
  readonly to: number | null;
  readonly limit: number;
  readonly offset: number;
}

export const LIMIT = { default: 200, min: 1, max: 1000 };
/** Beyond, narrowing the time range is cheaper than skipping. */
export const OFFSET = { default: 0, min: 0, max: 10_000 };

/** @param url path and query */
export function parseMessageList(url: string, tenant: string): MessageListRequest {
  const query = new ListQuery(url);
  return {
    tenant,
    queue: query.text('queue'),
    partition: query.text('partition'),
    namespace: query.text('namespace', 'ns'),
    task: query.text('task'),
    status: query.oneOf('status', MESSAGE_STATUSES),
    from: query.instant('from'),
    to: query.instant('to'),
    limit: query.integer('limit', LIMIT),
    offset: query.integer('offset', OFFSET),
  };
}
