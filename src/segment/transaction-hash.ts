import { xxh3 } from '@node-rs/xxhash';

export const HASH_BYTES = 16;
const LOW_64_BITS = 64n;

/** The hash of one transactionId: xxh3, 128 bits, seed 0, over its UTF-8 bytes, big-endian (storage rule 2.4). */
export function hashTransactionId(transactionId: string | Uint8Array): Buffer {
  return hashTransactionIds([transactionId]);
}

/**
 * The hashes of a segment in one buffer: index k, at byte 16 × k, belongs to frame k (invariant I10).
 * A text must be well-formed Unicode: a lone surrogate would hash like U+FFFD.
 */
export function hashTransactionIds(transactionIds: readonly (string | Uint8Array)[]): Buffer {
  const hashes = Buffer.allocUnsafe(transactionIds.length * HASH_BYTES);
  const view = new DataView(hashes.buffer, hashes.byteOffset, hashes.length);
  for (let i = 0, at = 0; i < transactionIds.length; i++, at += HASH_BYTES) {
    const hash = xxh3.xxh128(transactionIds[i]);
    view.setBigUint64(at, hash >> LOW_64_BITS); // setBigUint64 keeps the low 64 bits of what it is given
    view.setBigUint64(at + 8, hash);
  }
  return hashes;
}
