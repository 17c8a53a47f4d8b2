/** Random choices from a seed (mulberry32): the same seed makes the same choices, whatever the timing. */
export class Dice {
  constructor(private state: number) {}

  /** A whole number from 0 to below `sides`. */
  roll(sides: number): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % sides;
  }

  pick<T>(from: readonly T[]): T {
    return from[this.roll(from.length)];
  }

  /** True once in so many times. */
  once(inTimes: number): boolean {
    return this.roll(inTimes) === 0;
  }

  some<T>(from: readonly T[], most: number): T[] {
    return Array.from({ length: 1 + this.roll(most) }, () => this.pick(from));
  }
}
