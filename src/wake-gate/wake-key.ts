/**
 * What a pop waits for. `key` is tenant + U+001F + queue, byte for byte the key of the ring (G10), or wakes
 * vanish silently. `partition` waits for one partition of the queue, `discovery` for any push of the tenant.
 */
export type WakeKey =
  | { kind: 'queue'; key: string }
  | { kind: 'partition'; key: string; partition: string }
  | { kind: 'discovery'; tenant: string };
