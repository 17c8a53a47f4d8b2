import type { JsonCursor } from './scanner.js';

/** Longer texts are decoded each time: comparing them would cost more than it saves. */
const MAX_REMEMBERED_BYTES = 512;

/**
 * The items of a batch mostly name the same queue, partition or lease. Comparing the bytes with those of the item before
 * costs a few nanoseconds, and all items then share one string instead of holding a copy each.
 */
export class RepeatedText {
  private start = 0;
  private end = -1;
  private last = '';

  /** The cursor's token as text. Use one instance per field and per body. */
  of(cursor: JsonCursor): string {
    if (!this.isSame(cursor)) {
      this.last = cursor.text();
      this.start = cursor.tokenStart;
      this.end = cursor.tokenEnd;
    }
    return this.last;
  }

  private isSame(cursor: JsonCursor): boolean {
    const length = cursor.tokenEnd - cursor.tokenStart;
    if (length !== this.end - this.start || length > MAX_REMEMBERED_BYTES) return false;
    const { bytes, tokenStart } = cursor;
    for (let i = 0; i < length; i++) if (bytes[tokenStart + i] !== bytes[this.start + i]) return false;
    return true;
  }
}
