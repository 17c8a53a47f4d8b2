/** Marks per window: what is forgotten, is forgotten this much of the window late at most. */
const MARKS_PER_WINDOW = 64;

/**
 * When offsets were stored, roughly: each mark says that everything up to an offset is no younger than a time. Messages
 * that came close together share a mark, so there are few of them however many messages there are.
 *
 * Times are the database's, in microseconds since 1970.
 */
export class AgeMarks {
  private offsets: number[] = [];
  private times: number[] = [];
  /** Time of the first message of the last mark. */
  private lastFrom = -Infinity;

  get count(): number {
    return this.offsets.length;
  }

  /** Messages up to `offset` have been stored, the last of them at `atMicros`. Offsets ascend. */
  add(offset: number, atMicros: number, windowSeconds: number): void {
    const stepMicros = (windowSeconds * 1_000_000) / MARKS_PER_WINDOW;
    const last = this.offsets.length - 1;
    if (last >= 0 && atMicros - this.lastFrom < stepMicros) {
      this.offsets[last] = offset;
      this.times[last] = Math.max(this.times[last], atMicros); // the clock of a database may be set back
      return;
    }
    this.offsets.push(offset);
    this.times.push(atMicros);
    this.lastFrom = atMicros;
  }

  /** Takes out the marks of what is older than `cutoffMicros`; the highest offset among them, -1 when there is none. */
  dropOlder(cutoffMicros: number): number {
    let dropped = 0;
    while (dropped < this.times.length && this.times[dropped] < cutoffMicros) dropped += 1;
    if (dropped === 0) return -1;
    const offset = this.offsets[dropped - 1];
    this.offsets.splice(0, dropped);
    this.times.splice(0, dropped);
    if (this.offsets.length === 0) this.lastFrom = -Infinity;
    return offset;
  }
}
