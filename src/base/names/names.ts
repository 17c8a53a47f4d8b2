/** Longest queue, partition or group name in UTF-8 bytes. */
export const NAME_BYTES_MAX = 255;

export type NameKind = 'queue' | 'partition' | 'consumerGroup' | 'namespace' | 'task';

/**
 * Why a name cannot be stored or addressed, or null. Whatever passes here is reachable on every route with
 * `encodeURIComponent`: a NUL or a lone surrogate cannot be stored, and `.` and `..` are eaten by every client's
 * URL normalisation before they reach us. The empty partition is a legal partition, distinct from `Default`.
 */
export function nameProblem(kind: NameKind, name: string): string | null {
  if (name === '' && kind === 'queue') return `${kind} must not be empty`;
  if (name === '.' || name === '..') return `${kind} must not be "." or "..": URLs cannot address it`;
  if (name.includes('\0')) return `${kind} must not contain U+0000`;
  if (!name.isWellFormed()) return `${kind} must not contain a lone surrogate`;
  if (name.length > NAME_BYTES_MAX || Buffer.byteLength(name) > NAME_BYTES_MAX) {
    return `${kind} must not be longer than ${NAME_BYTES_MAX} bytes`;
  }
  return null;
}

/** Queue-mode consumption: no consumer group was named. */
export const QUEUE_MODE_GROUP = '__QUEUE_MODE__';

export const DEFAULT_TENANT = '00000000-0000-0000-0000-000000000001';
