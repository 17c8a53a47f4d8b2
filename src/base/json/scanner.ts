import { isUtf8 } from 'node:buffer';
import { BrokerError } from '../errors/broker-error.js';
import { JsonSyntaxError } from './json-syntax-error.js';
import { escapeEnd, isNumberStart, numberEnd, startsWith, whitespaceEnd } from './lexemes.js';

/**
 * How deep one value of a body (a payload, a header, an ignored key) may nest; `[]` is one level. What a client
 * wraps around its value, such as `{"items":[{…}]}`, does not count, so every route accepts the same payloads.
 */
export const MAX_JSON_DEPTH = 512;

export type JsonType = 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null' | 'none';

// Declared in this file, not imported: the engine folds them into the loops below (a third of the time).
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

const TRUE = Buffer.from('true');
const FALSE = Buffer.from('false');
const NULL = Buffer.from('null');

/** The closing byte of every container that is open inside skipValue(). Shared: skipping never yields. */
const openContainers = new Uint8Array(MAX_JSON_DEPTH);

/**
 * Walks one JSON text (RFC 8259, strict UTF-8, no byte order mark) and accepts exactly what JSON.parse accepts, without
 * building values: a payload is a slice of the body, so its key order, number spelling and duplicate keys survive.
 * Everything stepped over is validated; a slice is therefore safe to splice into another JSON text.
 *
 * ```ts
 * for (let more = cursor.enterObject(); more; more = cursor.nextMember()) {
 *   // the token is the key, the cursor stands at its value: read it or skip it
 * }
 * ```
 *
 * Throws JsonSyntaxError, and BrokerError `json_too_deep` beyond MAX_JSON_DEPTH. Nothing here recurses.
 */
export class JsonCursor {
  /** Where the cursor stands: always at a token, or at the end. */
  at = 0;
  /** Content of the string read last (a key or a value), without its quotes. */
  tokenStart = 0;
  tokenEnd = 0;
  /** Whether that string holds a backslash. Without one it can hold neither U+0000 nor a lone surrogate. */
  tokenEscaped = false;
  /** Where the value began that was stepped over last, or that could not be. */
  valueStart = 0;
  /** Ends of values that have been validated already, by their start; these are jumped over. */
  knownEnds: Map<number, number> | null = null;

  /** @param bytes the text; whoever reads it slice by slice shows only its beginning for a while (body-slices.ts) */
  constructor(public bytes: Buffer) {
    if (!isUtf8(bytes)) throw new JsonSyntaxError('expected UTF-8', 0);
    this.skipWhitespace();
  }

  /** What the value at the cursor is, by its first byte. `none`: no value starts here. */
  type(): JsonType {
    const byte = this.bytes[this.at];
    if (byte === QUOTE) return 'string';
    if (byte === OPEN_BRACE) return 'object';
    if (byte === OPEN_BRACKET) return 'array';
    if (isNumberStart(byte)) return 'number';
    if (byte === 0x74 || byte === 0x66) return 'boolean';
    return byte === 0x6e ? 'null' : 'none';
  }

  /** Steps over `{` and reads the first key. False when the object is empty; it is then behind the cursor. */
  enterObject(): boolean {
    this.expect(OPEN_BRACE, "'{'");
    if (this.skipIf(CLOSE_BRACE)) return false;
    this.readKey();
    return true;
  }

  /** After a member's value: reads the next key. False when the object has ended; it is then behind the cursor. */
  nextMember(): boolean {
    if (this.skipIf(CLOSE_BRACE)) return false;
    this.expect(COMMA, "',' or '}'");
    this.readKey();
    return true;
  }

  /** Steps over `[`. False when the array is empty; it is then behind the cursor. */
  enterArray(): boolean {
    this.expect(OPEN_BRACKET, "'['");
    return !this.skipIf(CLOSE_BRACKET);
  }

  /** After an element: steps to the next one. False when the array has ended; it is then behind the cursor. */
  nextElement(): boolean {
    if (this.skipIf(CLOSE_BRACKET)) return false;
    this.expect(COMMA, "',' or ']'");
    return true;
  }

  /** Reads the string at the cursor into the token. */
  readString(): void {
    if (this.bytes[this.at] !== QUOTE) throw new JsonSyntaxError('expected a string', this.at);
    this.scanString();
    this.skipWhitespace();
  }

  /** The token as text. It may hold U+0000 and lone surrogates, written as escapes (see textFlaw). */
  text(): string {
    if (!this.tokenEscaped) return this.bytes.toString('utf8', this.tokenStart, this.tokenEnd);
    return JSON.parse(this.bytes.toString('utf8', this.tokenStart - 1, this.tokenEnd + 1)) as string;
  }

  /** Whether the token spells `name`, escaped or not. */
  tokenIs(name: Buffer): boolean {
    if (this.tokenEscaped) return name.equals(Buffer.from(this.text()));
    if (this.tokenEnd - this.tokenStart !== name.length) return false;
    return startsWith(this.bytes, this.tokenStart, name);
  }

  /** Steps over the value at the cursor and returns its bytes: a view of the body, without surrounding whitespace. */
  slice(): Buffer {
    const start = this.at;
    return this.bytes.subarray(start, this.skipValue());
  }

  /** Steps over the value at the cursor. Returns where it ends, before any whitespace that follows. */
  skipValue(depthMax = MAX_JSON_DEPTH): number {
    this.valueStart = this.at;
    const knownEnd = this.knownEnds?.get(this.at);
    if (knownEnd !== undefined) {
      this.at = knownEnd;
      this.skipWhitespace();
      return knownEnd;
    }
    let depth = 0;
    for (;;) {
      const byte = this.bytes[this.at];
      if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        if (depth === depthMax) throw tooDeep(this.at);
        this.step();
        const closing = byte === OPEN_BRACE ? CLOSE_BRACE : CLOSE_BRACKET;
        openContainers[depth++] = closing;
        if (this.bytes[this.at] !== closing) {
          if (closing === CLOSE_BRACE) this.readKey();
          continue;
        }
      } else {
        this.skipScalar(byte);
        if (depth === 0) {
          const end = this.at;
          this.skipWhitespace();
          return end;
        }
        this.skipWhitespace();
      }

      // A value inside a container has ended, or the container itself: close all that end here.
      for (;;) {
        const closing = openContainers[depth - 1];
        const next = this.bytes[this.at];
        if (next === closing) {
          const end = ++this.at;
          this.skipWhitespace();
          if (--depth === 0) return end;
        } else if (next === COMMA) {
          this.step();
          if (closing === CLOSE_BRACE) this.readKey();
          break;
        } else {
          throw new JsonSyntaxError(
            closing === CLOSE_BRACE ? "expected ',' or '}'" : "expected ',' or ']'",
            this.at,
          );
        }
      }
    }
  }

  /** Refuses anything behind the document. */
  expectEnd(): void {
    if (this.at < this.bytes.length) throw new JsonSyntaxError('expected the end of the text', this.at);
  }

  private readKey(): void {
    if (this.bytes[this.at] !== QUOTE) throw new JsonSyntaxError('expected a key', this.at);
    this.scanString();
    this.skipWhitespace();
    this.expect(COLON, "':'");
  }

  private skipScalar(byte: number): void {
    if (byte === QUOTE) this.scanString();
    else if (isNumberStart(byte)) this.at = numberEnd(this.bytes, this.at);
    else if (byte === 0x74) this.skipWord(TRUE);
    else if (byte === 0x66) this.skipWord(FALSE);
    else if (byte === 0x6e) this.skipWord(NULL);
    else throw new JsonSyntaxError('expected a value', this.at);
  }

  private skipWord(word: Buffer): void {
    if (!startsWith(this.bytes, this.at, word))
      throw new JsonSyntaxError(`expected ${word.toString()}`, this.at);
    this.at += word.length;
  }

  private scanString(): void {
    const bytes = this.bytes;
    let at = this.at + 1;
    let escaped = false;
    this.tokenStart = at;
    for (;;) {
      const byte = bytes[at]; // undefined past the end: every comparison below is then false
      if (byte >= 0x20 && byte !== QUOTE && byte !== BACKSLASH) {
        at++;
      } else if (byte === QUOTE) {
        break;
      } else if (byte === BACKSLASH) {
        at = escapeEnd(bytes, at);
        escaped = true;
      } else {
        throw new JsonSyntaxError(at < bytes.length ? 'expected no control character' : "expected '\"'", at);
      }
    }
    this.tokenEnd = at;
    this.tokenEscaped = escaped;
    this.at = at + 1;
  }

  private expect(byte: number, name: string): void {
    if (this.bytes[this.at] !== byte) throw new JsonSyntaxError(`expected ${name}`, this.at);
    this.step();
  }

  private skipIf(byte: number): boolean {
    if (this.bytes[this.at] !== byte) return false;
    this.step();
    return true;
  }

  private step(): void {
    this.at++;
    this.skipWhitespace();
  }

  private skipWhitespace(): void {
    this.at = whitespaceEnd(this.bytes, this.at);
  }
}

function tooDeep(at: number): BrokerError {
  return new BrokerError('json_too_deep', `a value nests deeper than ${MAX_JSON_DEPTH} levels at byte ${at}`);
}
