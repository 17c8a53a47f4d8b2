/**
 * A buffer that lives as long as the process and is handed out again and again. Safe because everything that uses it is
 * synchronous and copies its result out before it returns. Rare large sizes get a buffer of their own, so that one huge
 * message does not keep its memory for good.
 */
export class Scratch {
  private buffer = Buffer.allocUnsafeSlow(0);

  constructor(private readonly keptBytesMax: number) {}

  /** At least `size` bytes of anything; valid until the next take(). */
  take(size: number): Buffer {
    if (size > this.keptBytesMax) return Buffer.allocUnsafeSlow(size);
    if (size > this.buffer.length) {
      this.buffer = Buffer.allocUnsafeSlow(
        Math.min(this.keptBytesMax, Math.max(size, this.buffer.length * 2)),
      );
    }
    return this.buffer;
  }
}
