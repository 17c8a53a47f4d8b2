/** A time the model knows, or one that the database picks during the step under way. */
export type Moment = number | Fresh;

/**
 * The database's clock at some point of the step, plus `seconds`; at least `floor`. After the step it must lie between
 * the clocks read before and after, and from then on it is a number.
 */
export class Fresh {
  constructor(
    readonly seconds = 0,
    readonly floor = -Infinity,
  ) {}

  admits(actual: number, from: number, to: number): boolean {
    const shift = this.seconds * 1_000_000;
    return actual >= Math.max(this.floor, from + shift) && actual <= Math.max(this.floor, to + shift);
  }
}

/** A time that follows the clock, but only once it is a second old (hazard Z13). */
export class Quantized extends Fresh {
  constructor(private readonly previous: number) {
    super();
  }

  override admits(actual: number, from: number, to: number): boolean {
    const second = 1_000_000;
    if (actual === this.previous) return this.previous >= from - second;
    return super.admits(actual, from, to) && this.previous < to - second;
  }
}
