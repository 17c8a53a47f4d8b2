import { randomInt } from 'node:crypto';

/** Larger blocks would be quicker to search, and hold memory for longer than their oldest keys are needed. */
export const BLOCK_KEYS_MAX = 1 << 18;
/** A block grows by copying itself; beyond this it would hold up the event loop. */
const GROWN_KEYS_MAX = 1 << 16;
const KEYS_MIN = 1 << 4;
/** The key, and two slots of four bytes each. */
export const BYTES_PER_KEY = 8 + 2 * 4;
/** The object and its two arrays, before they hold anything. */
const OVERHEAD_BYTES = 256;
/** Equal keys that are kept apart. Without a bound, ids that repeat without end would make a search crawl. */
export const EQUALS_MAX = 8;

/**
 * Multipliers nobody outside can know: keys come from texts that clients choose, and among keys that all wish for the
 * same slot a search is a walk.
 */
const MULTIPLY_LOW = randomInt(2 ** 32) | 1;
const MULTIPLY_HIGH = randomInt(2 ** 32) | 1;

/**
 * Keys of 64 bits, as two halves, numbered from 0 in the order they came, and found again by key.
 *
 * Open addressing: a slot holds a number + 1 and points into the keys, which lie in order. Half of the slots stay free.
 */
export class HashBlock {
  private keys: Uint32Array;
  private slots: Uint32Array;
  /** The upper bits of a product are the ones that all of the key has gone into. */
  private shift: number;
  private count = 0;
  private isCrowded = false;

  private constructor(
    private capacity: number,
    private readonly keysMax: number,
  ) {
    this.keys = new Uint32Array(2 * capacity);
    this.slots = new Uint32Array(2 * capacity);
    this.shift = Math.clz32(2 * capacity) + 1;
  }

  /** A small one that grows, for the first keys of an index. */
  static growing(): HashBlock {
    return new HashBlock(KEYS_MIN, GROWN_KEYS_MAX);
  }

  /** One that never grows, for an index that holds so many keys already: it at most doubles the memory. */
  static behind(held: number): HashBlock {
    const capacity = Math.min(BLOCK_KEYS_MAX, Math.max(KEYS_MIN, 1 << (31 - Math.clz32(held))));
    return new HashBlock(capacity, capacity);
  }

  get length(): number {
    return this.count;
  }

  get isFull(): boolean {
    return this.count === this.keysMax;
  }

  /** Memory held, filled or not. */
  get bytes(): number {
    return OVERHEAD_BYTES + this.capacity * BYTES_PER_KEY;
  }

  /** Gives the key the next number. Not to be called when full. */
  append(low: number, high: number): void {
    if (this.count === this.capacity) this.grow();
    const number = this.count++;
    this.keys[2 * number] = low;
    this.keys[2 * number + 1] = high;
    this.enter(number);
  }

  /**
   * Adds the numbers of an equal key to `numbers`, ascending. False when there are more than are kept, of which the last
   * is always among them.
   */
  find(low: number, high: number, numbers: number[]): boolean {
    const { keys, slots } = this;
    const mask = slots.length - 1;
    let isAbsent = true;
    for (let slot = this.slotOf(low, high); slots[slot] !== 0; slot = (slot + 1) & mask) {
      const number = slots[slot] - 1;
      if (keys[2 * number] !== low || keys[2 * number + 1] !== high) continue;
      numbers.push(number);
      isAbsent = false;
    }
    return isAbsent || !this.isCrowded;
  }

  /** Goes behind those with an equal key, so these stand in order. */
  private enter(number: number): void {
    const { keys, slots } = this;
    const low = keys[2 * number];
    const high = keys[2 * number + 1];
    const mask = slots.length - 1;
    let equals = 0;
    let slot = this.slotOf(low, high);
    for (; slots[slot] !== 0; slot = (slot + 1) & mask) {
      const other = slots[slot] - 1;
      if (keys[2 * other] === low && keys[2 * other + 1] === high && ++equals === EQUALS_MAX) {
        this.isCrowded = true; // takes the slot of the last one, so that the key outlives its older numbers
        break;
      }
    }
    slots[slot] = number + 1;
  }

  private slotOf(low: number, high: number): number {
    return (Math.imul(low, MULTIPLY_LOW) + Math.imul(high, MULTIPLY_HIGH)) >>> this.shift;
  }

  private grow(): void {
    this.capacity *= 2;
    this.shift -= 1;
    const keys = new Uint32Array(2 * this.capacity);
    keys.set(this.keys);
    this.keys = keys;
    this.slots = new Uint32Array(2 * this.capacity);
    for (let number = 0; number < this.count; number++) this.enter(number);
  }
}
