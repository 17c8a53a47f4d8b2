import { randomInt } from 'node:crypto';

/** Growing beyond this would copy for longer than a turn of the event loop should take. */
export const BLOCK_KEYS_MAX = 1 << 18;
const KEYS_MIN_LOG2 = 4;
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
  private capacity = 1 << KEYS_MIN_LOG2;
  private keys = new Uint32Array(2 * this.capacity);
  private slots = new Uint32Array(2 * this.capacity);
  /** The upper bits of a product are the ones that all of the key has gone into. */
  private shift = 32 - (KEYS_MIN_LOG2 + 1);
  private count = 0;
  private isCrowded = false;

  get length(): number {
    return this.count;
  }

  get isFull(): boolean {
    return this.count === BLOCK_KEYS_MAX;
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
