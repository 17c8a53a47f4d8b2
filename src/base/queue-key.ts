const separator = '\u001f';

/**
 * The key of everything held in memory for one queue: rings, gates, pending wakes. Made here and nowhere else,
 * because a ring key and a gate key that differ by one byte lose wakes without a trace (G10).
 */
export function queueKey(tenant: string, queue: string): string {
  return tenant + separator + queue;
}

/** The way back, for callers that must name the queue to PostgreSQL. A tenant never holds the separator. */
export function splitQueueKey(key: string): { tenant: string; queue: string } {
  const at = key.indexOf(separator);
  return { tenant: key.slice(0, at), queue: key.slice(at + 1) };
}
