import { randomInt } from 'node:crypto';
import { HASH_WORDS, hashId } from './id-hash.js';

const SEED = randomInt(2 ** 32) | 0;

/** Copied byte by byte up to this length: cheaper than a call, and nearly all transactionIds are uuids. */
const SHORT_TEXT = 64;
const scratch = Buffer.allocUnsafeSlow(4096);

/** The hashes of transactionIds, in the order they were added; equal ids have equal hashes in this process only. */
export class IdHashes {
  private words: Int32Array;
  private count = 0;

  /** @param expected ids that will be added; more may come */
  constructor(expected: number) {
    this.words = new Int32Array(Math.max(1, expected) * HASH_WORDS);
  }

  get size(): number {
    return this.count;
  }

  /** Four words per id. */
  get view(): Int32Array {
    const length = this.count * HASH_WORDS;
    return length === this.words.length ? this.words : this.words.subarray(0, length);
  }

  /** The id is the UTF-8 in `bytes[start, end)`. */
  addBytes(bytes: Uint8Array, start: number, end: number): void {
    const at = this.count * HASH_WORDS;
    if (at === this.words.length) this.grow();
    hashId(this.words, at, bytes, start, end, SEED);
    this.count += 1;
  }

  /** The id as text, which must be well-formed Unicode. */
  addText(id: string): void {
    if (id.length * 3 > scratch.length) {
      const bytes = Buffer.from(id);
      this.addBytes(bytes, 0, bytes.length);
    } else {
      this.addBytes(scratch, 0, id.length > SHORT_TEXT ? scratch.write(id) : writeShort(id));
    }
  }

  private grow(): void {
    const words = new Int32Array(this.words.length * 2);
    words.set(this.words);
    this.words = words;
  }
}

function writeShort(id: string): number {
  for (let i = 0; i < id.length; i++) {
    const code = id.charCodeAt(i);
    if (code > 0x7f) return scratch.write(id);
    scratch[i] = code;
  }
  return id.length;
}
