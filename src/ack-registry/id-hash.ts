/** Numbers of 32 bits that one id's hash takes. */
export const HASH_WORDS = 4;

const C1 = 0x239b961b;
const C2 = 0xab0e9789 | 0;
const C3 = 0x38b34ae5;
const C4 = 0xa1e38b93 | 0;
const BLOCK_BYTES = 16;

/**
 * MurmurHash3 x86, 128 bits, of `bytes[start, end)`, as four words written to `target` at `at`.
 *
 * This is not the hash that PostgreSQL stores for a transactionId (that is xxh3, in segment/): it only fingerprints sets
 * of ids inside one process, once per message on the way out and once on the way back, where a call into a native
 * library costs several times as much as the hash itself. With a seed of the process, nobody outside can look for ids
 * that collide.
 */
export function hashId(
  target: Int32Array,
  at: number,
  bytes: Uint8Array,
  start: number,
  end: number,
  seed: number,
): void {
  let h1 = seed;
  let h2 = seed;
  let h3 = seed;
  let h4 = seed;
  let next = start;

  for (; next + BLOCK_BYTES <= end; next += BLOCK_BYTES) {
    h1 ^= mix1(word(bytes, next));
    h1 = (Math.imul((rotate(h1, 19) + h2) | 0, 5) + 0x561ccd1b) | 0;
    h2 ^= mix2(word(bytes, next + 4));
    h2 = (Math.imul((rotate(h2, 17) + h3) | 0, 5) + 0x0bcaa747) | 0;
    h3 ^= mix3(word(bytes, next + 8));
    h3 = (Math.imul((rotate(h3, 15) + h4) | 0, 5) + 0x96cd1c35) | 0;
    h4 ^= mix4(word(bytes, next + 12));
    h4 = (Math.imul((rotate(h4, 13) + h1) | 0, 5) + 0x32ac3b17) | 0;
  }

  const left = end - next;
  if (left > 12) h4 ^= mix4(lastWord(bytes, next + 12, end));
  if (left > 8) h3 ^= mix3(lastWord(bytes, next + 8, end));
  if (left > 4) h2 ^= mix2(lastWord(bytes, next + 4, end));
  if (left > 0) h1 ^= mix1(lastWord(bytes, next, end));

  const length = end - start;
  h1 ^= length;
  h2 ^= length;
  h3 ^= length;
  h4 ^= length;
  h1 = (h1 + h2 + h3 + h4) | 0;
  h2 = (h2 + h1) | 0;
  h3 = (h3 + h1) | 0;
  h4 = (h4 + h1) | 0;
  h1 = avalanche(h1);
  h2 = avalanche(h2);
  h3 = avalanche(h3);
  h4 = avalanche(h4);
  h1 = (h1 + h2 + h3 + h4) | 0;
  target[at] = h1;
  target[at + 1] = (h2 + h1) | 0;
  target[at + 2] = (h3 + h1) | 0;
  target[at + 3] = (h4 + h1) | 0;
}

function word(bytes: Uint8Array, at: number): number {
  return bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24);
}

/** Up to four bytes, what lies beyond `end` taken as zero. */
function lastWord(bytes: Uint8Array, at: number, end: number): number {
  let value = 0;
  for (let i = Math.min(at + 4, end) - 1; i >= at; i--) value = (value << 8) | bytes[i];
  return value;
}

function mix1(k: number): number {
  return Math.imul(rotate(Math.imul(k, C1), 15), C2);
}

function mix2(k: number): number {
  return Math.imul(rotate(Math.imul(k, C2), 16), C3);
}

function mix3(k: number): number {
  return Math.imul(rotate(Math.imul(k, C3), 17), C4);
}

function mix4(k: number): number {
  return Math.imul(rotate(Math.imul(k, C4), 18), C1);
}

function rotate(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits));
}

function avalanche(h: number): number {
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}
