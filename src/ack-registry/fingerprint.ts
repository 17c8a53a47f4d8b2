import { HASH_WORDS } from './id-hash.js';

/** A set of ids as its size and a digest that does not depend on their order. */
export interface Fingerprint {
  /** Distinct ids. */
  readonly count: number;
  /** Equal for equal sets; 36 one-byte characters, the count among them. */
  readonly digest: string;
}

const DIGEST_BYTES = 4 + 2 * HASH_WORDS * 4;
const digestScratch = Buffer.allocUnsafeSlow(DIGEST_BYTES);

/** The table of a usual batch is kept, that of a huge one is not. */
const KEPT_SLOTS = 16_384;
let keptTable = new Int32Array(256);

/**
 * Fingerprints the hashes of a batch, four words each. A set of hashes would cost a hundred bytes a message for as long
 * as the lease lives; sums and xors over the distinct ones cost 36 bytes whatever the batch, and that two different sets
 * share them is as unlikely as that two ids share a hash.
 *
 * Each hash counts once, on both sides: a batch may hold a transactionId twice, and a request may name one twice.
 */
export function fingerprintOf(hashes: Int32Array): Fingerprint {
  const slots = tableSize(hashes.length / HASH_WORDS);
  const table = takeTable(slots);
  let count = 0;
  let s0 = 0;
  let s1 = 0;
  let s2 = 0;
  let s3 = 0;
  let x0 = 0;
  let x1 = 0;
  let x2 = 0;
  let x3 = 0;
  for (let at = 0; at < hashes.length; at += HASH_WORDS) {
    if (isRepeated(table, slots, hashes, at)) continue;
    count += 1;
    s0 = (s0 + hashes[at]) | 0;
    s1 = (s1 + hashes[at + 1]) | 0;
    s2 = (s2 + hashes[at + 2]) | 0;
    s3 = (s3 + hashes[at + 3]) | 0;
    x0 ^= hashes[at];
    x1 ^= hashes[at + 1];
    x2 ^= hashes[at + 2];
    x3 ^= hashes[at + 3];
  }
  return { count, digest: digestOf([count, s0, s1, s2, s3, x0, x1, x2, x3]) };
}

/** True when the hash at `at` came before; otherwise notes it. Open addressing, at most half full. */
function isRepeated(table: Int32Array, slots: number, hashes: Int32Array, at: number): boolean {
  const mask = slots - 1;
  for (let slot = hashes[at] & mask; ; slot = (slot + 1) & mask) {
    const noted = table[slot] - 1;
    if (noted < 0) {
      table[slot] = at + 1;
      return false;
    }
    if (
      hashes[noted] === hashes[at] &&
      hashes[noted + 1] === hashes[at + 1] &&
      hashes[noted + 2] === hashes[at + 2] &&
      hashes[noted + 3] === hashes[at + 3]
    ) {
      return true;
    }
  }
}

function tableSize(count: number): number {
  let slots = 4;
  while (slots < count * 2) slots *= 2;
  return slots;
}

/** `slots` zeroes. Everything that uses the table is synchronous, so one is enough for the process. */
function takeTable(slots: number): Int32Array {
  if (slots > KEPT_SLOTS) return new Int32Array(slots);
  if (slots > keptTable.length) keptTable = new Int32Array(slots);
  else keptTable.fill(0, 0, slots);
  return keptTable;
}

function digestOf(words: readonly number[]): string {
  let at = 0;
  for (const word of words) at = digestScratch.writeInt32LE(word, at);
  return digestScratch.toString('latin1', 0, at);
}
