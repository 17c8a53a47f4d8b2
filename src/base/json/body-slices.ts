import { JsonSyntaxError } from './json-syntax-error.js';
import { escapeEnd, plainEnd, whitespaceEnd } from './lexemes.js';
import { JsonCursor, MAX_JSON_DEPTH } from './scanner.js';

/** What is read of a body in one turn of the event loop: a millisecond or a few, by what is made of it. */
export const SLICE_BYTES = 1024 * 1024;

/** A word or an escape that is cut short is reported where it begins. */
const MARGIN_BYTES = 8;
/** A part of a long value is tried whole when it may be so small, as a share of a slice. */
const SMALL_SHARE = 1 / 16;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** The value was not whole in what may be read this turn: go on with afterCut(), and read it again. */
export const CUT = Symbol('cut');

/**
 * A body that is read a slice a turn: 64 MiB at once would hold everybody else up for a tenth of a second and more.
 *
 * The cursor is shown the beginning of the body only, up to some way ahead of where it stands. A step that runs into that
 * end is undone and done again when more is shown; the grammar knows nothing of it. A value that is longer than a slice is
 * validated part by part first, and jumped over when its step is done again. A body of no more than a slice is shown
 * whole, and then a step is just a call.
 *
 * A step must be a function of what the cursor stands at: it is undone by putting the cursor back.
 */
export class BodySlices {
  readonly cursor: JsonCursor;
  private end: number;
  private ahead: number;
  private turnStart = 0;
  /** Of the value that the last step was cut in, when it is a long one. */
  private longStart: number | null = null;

  /** @throws JsonSyntaxError for bytes that are not UTF-8 */
  constructor(
    private readonly body: Buffer,
    private readonly sliceBytes = SLICE_BYTES,
  ) {
    this.cursor = new JsonCursor(body);
    this.ahead = sliceBytes;
    this.end = body.length;
    if (body.length <= sliceBytes) return;
    this.cursor.knownEnds = new Map();
    this.show(this.cursor.at + sliceBytes);
  }

  /** Nothing behind this byte has been looked at. */
  get shownBytes(): number {
    return this.end;
  }

  /** The result of `read`, or CUT. Errors that are no consequence of the cut pass through. */
  attempt<T>(read: () => T): T | typeof CUT {
    const { cursor, body, sliceBytes } = this;
    if (body.length <= sliceBytes) return read();
    const start = cursor.at;
    if (this.end - start < this.ahead) this.show(start + 2 * this.ahead);
    cursor.valueStart = -1;
    const result = this.unlessCut(read, start);
    if (result !== CUT) {
      this.ahead = sliceBytes;
      // It was shown for a long value, and must not hide that the next one is long too.
      if (this.end - cursor.at > 4 * sliceBytes) this.show(cursor.at + sliceBytes);
    } else if (this.isLong(cursor.valueStart, start)) {
      this.longStart = cursor.valueStart;
    } else {
      this.ahead = 2 * Math.max(this.ahead, this.end - start);
    }
    return result;
  }

  /** Whether the step that began at `start` was cut in a value of more than a slice. One that is known was not the reason. */
  private isLong(valueStart: number, start: number): boolean {
    const isKnown = this.cursor.knownEnds?.has(valueStart) === true;
    return valueStart >= start && this.end - valueStart >= this.sliceBytes && !isKnown;
  }

  /** To be done with before a step that was cut is done again. */
  *afterCut(): Generator<void, void> {
    yield;
    this.turnStart = this.cursor.at;
    if (this.longStart === null) return;
    const { cursor } = this;
    const stepStart = cursor.at;
    const valueStart = this.longStart;
    this.longStart = null;
    cursor.at = valueStart;
    yield* this.walk();
    const valueEnd = endBefore(this.body, cursor.at);
    cursor.knownEnds?.set(valueStart, valueEnd);
    cursor.at = this.turnStart = stepStart;
    this.ahead = valueEnd - stepStart + this.sliceBytes;
  }

  /** Whether this turn has read enough. Asked once after each step. */
  get isDue(): boolean {
    if (this.cursor.at - this.turnStart < this.sliceBytes) return false;
    this.turnStart = this.cursor.at;
    return true;
  }

  /** One step, with as many turns as it takes. */
  *step<T>(read: () => T): Generator<void, T> {
    for (;;) {
      const result = this.attempt(read);
      if (result !== CUT) {
        if (this.isDue) yield;
        return result;
      }
      yield* this.afterCut();
    }
  }

  /** Reads the elements of the array at the cursor; `add` gets each, and may refuse more of them by throwing. */
  *elements<Item>(read: () => Item, add: (item: Item) => void): Generator<void, void> {
    const { cursor } = this;
    const nextElement = () => cursor.nextElement();
    let more = yield* this.step(() => cursor.enterArray());
    while (more) {
      // Not by step(): it would make a generator for each of what may be a quarter of a million.
      let item = this.attempt(read);
      while (item === CUT) {
        yield* this.afterCut();
        item = this.attempt(read);
      }
      add(item);
      let next = this.attempt(nextElement);
      while (next === CUT) {
        yield* this.afterCut();
        next = this.attempt(nextElement);
      }
      more = next;
      if (this.isDue) yield;
    }
  }

  /** Steps over the long value at the cursor: into its containers, over their small parts at once. */
  private *walk(): Generator<void, void> {
    const { cursor } = this;
    const open: ('object' | 'array')[] = [];
    for (;;) {
      const depthLeft = MAX_JSON_DEPTH - open.length;
      if (this.attemptSmall(() => cursor.skipValue(depthLeft)) === CUT) {
        const type = cursor.type();
        if (type === 'object' || type === 'array') {
          const isEntered = yield* this.token(() =>
            type === 'object' ? cursor.enterObject() : cursor.enterArray(),
          );
          if (isEntered) {
            open.push(type);
            continue;
          }
        } else if (type === 'string') yield* this.string();
        else yield* this.token(() => cursor.skipValue(depthLeft));
      }
      if (this.isDue) yield;
      for (;;) {
        const container = open.at(-1);
        if (container === undefined) return;
        const more = yield* this.token(() =>
          container === 'object' ? cursor.nextMember() : cursor.nextElement(),
        );
        if (more) break;
        open.pop();
      }
    }
  }

  /** A bracket, a comma or a key, or a number: short but for what nobody sends. */
  private *token<T>(read: () => T): Generator<void, T> {
    const start = this.cursor.at;
    for (let bytes = this.sliceBytes; ; bytes *= 2) {
      this.show(start + bytes);
      const result = this.unlessCut(read, start);
      if (result !== CUT) return result;
      yield;
    }
  }

  private attemptSmall<T>(read: () => T): T | typeof CUT {
    const start = this.cursor.at;
    this.show(start + Math.max(1, Math.floor(this.sliceBytes * SMALL_SHARE)));
    return this.unlessCut(read, start);
  }

  /** Steps over a long string. */
  private *string(): Generator<void, void> {
    const { body, cursor } = this;
    for (let at = cursor.at + 1, turnStart = at; ;) {
      at = plainEnd(body, at, Math.min(body.length, turnStart + this.sliceBytes));
      if (body[at] === QUOTE) {
        cursor.at = whitespaceEnd(body, at + 1);
        return;
      }
      if (body[at] === BACKSLASH) at = escapeEnd(body, at);
      else if (at === body.length) throw new JsonSyntaxError("expected '\"'", at);
      else if (body[at] < 0x20) throw new JsonSyntaxError('expected no control character', at);
      if (at - turnStart < this.sliceBytes) continue;
      yield;
      turnStart = at;
    }
  }

  /** The result of `read` when what is shown was enough for it; else CUT, with the cursor back at `start`. */
  private unlessCut<T>(read: () => T, start: number): T | typeof CUT {
    const { cursor, body } = this;
    const isWhole = this.end === body.length;
    try {
      const result = read();
      if (isWhole || cursor.at < this.end - MARGIN_BYTES) return result;
    } catch (error) {
      const isCut = error instanceof JsonSyntaxError && error.offset >= this.end - MARGIN_BYTES;
      if (isWhole || !isCut) throw error;
    }
    cursor.at = start;
    return CUT;
  }

  private show(end: number): void {
    this.end = Math.min(this.body.length, end);
    this.cursor.bytes = this.body.subarray(0, this.end);
  }
}

/** Where the value ends that is followed by whitespace up to `at`. */
function endBefore(bytes: Buffer, at: number): number {
  let end = at;
  while (whitespaceEnd(bytes, end - 1) > end - 1) end--;
  return end;
}
