import { JsonSyntaxError } from './json-syntax-error.js';

/*
 * The smallest parts of the JSON grammar, over bytes: each takes where it starts and returns where it ends. A read past
 * the end gives undefined, which no comparison holds for, so that none of them needs a bounds check.
 */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;

export function isNumberStart(byte: number): boolean {
  return byte === MINUS || (byte >= ZERO && byte <= NINE);
}

export function startsWith(bytes: Buffer, at: number, word: Buffer): boolean {
  for (let i = 0; i < word.length; i++) if (bytes[at + i] !== word[i]) return false;
  return true;
}

export function whitespaceEnd(bytes: Buffer, start: number): number {
  let at = start;
  for (
    let byte = bytes[at];
    byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
    byte = bytes[at]
  )
    at++;
  return at;
}

/** The first byte of a string, from `at` on and before `end`, that does not stand for itself; `end` when all do. */
export function plainEnd(bytes: Buffer, start: number, end: number): number {
  let at = start;
  while (at < end && bytes[at] >= 0x20 && bytes[at] !== QUOTE && bytes[at] !== BACKSLASH) at++;
  return at;
}

/** `-? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?`; a zero followed by a digit ends there and fails later. */
export function numberEnd(bytes: Buffer, start: number): number {
  let at = start;
  if (bytes[at] === MINUS) at++;
  at = bytes[at] === ZERO ? at + 1 : digitsEnd(bytes, at);
  if (bytes[at] === 0x2e) at = digitsEnd(bytes, at + 1);
  if (bytes[at] === 0x65 || bytes[at] === 0x45) {
    at++;
    if (bytes[at] === 0x2b || bytes[at] === MINUS) at++;
    at = digitsEnd(bytes, at);
  }
  return at;
}

/** At least one digit. */
function digitsEnd(bytes: Buffer, start: number): number {
  let at = start;
  while (bytes[at] >= ZERO && bytes[at] <= NINE) at++;
  if (at === start) throw new JsonSyntaxError('expected a digit', at);
  return at;
}

/** `start` is the backslash. */
export function escapeEnd(bytes: Buffer, start: number): number {
  switch (bytes[start + 1]) {
    case QUOTE:
    case BACKSLASH:
    case 0x2f: // /
    case 0x62: // b
    case 0x66: // f
    case 0x6e: // n
    case 0x72: // r
    case 0x74: // t
      return start + 2;
    case 0x75: // u
      for (let at = start + 2; at < start + 6; at++) {
        if (!isHexDigit(bytes[at])) throw new JsonSyntaxError('expected a hexadecimal digit', at);
      }
      return start + 6;
    default:
      throw new JsonSyntaxError('expected an escape', start + 1);
  }
}

function isHexDigit(byte: number): boolean {
  return (byte >= ZERO && byte <= NINE) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66);
}
