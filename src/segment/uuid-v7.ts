import { randomFillSync } from 'node:crypto';

const UUID_BYTES = 16;
const TEXT_BYTES = 36;
/** Bytes 0 to 11 are the same for a whole batch: time, version, variant and randomness. The counter follows. */
const PREFIX_BYTES = 12;
const RANDOM_BYTES = UUID_BYTES - 6;
const MAX_BATCH = 2 ** 31;

const HEX_DIGITS = Buffer.from('0123456789abcdef');
const DASH = 0x2d;
/** Where each byte's two digits stand in the text form. */
const TEXT_AT = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
const DASH_AT = [8, 13, 18, 23];
/** Character code → digit value; 255 for anything that is not a hexadecimal digit. */
const DIGIT_VALUES = new Uint8Array(128).fill(255);
for (let value = 0; value < 16; value++) {
  const digit = value.toString(16);
  DIGIT_VALUES[digit.charCodeAt(0)] = value;
  DIGIT_VALUES[digit.toUpperCase().charCodeAt(0)] = value;
}

/** A system call for every id costs more than the id, so randomness is fetched for many batches at once. */
const randomPool = Buffer.allocUnsafeSlow(4096 - (4096 % RANDOM_BYTES));
let randomUsed = randomPool.length;

/** Texts are put together here: a latin1 read is cheaper than 20 string concatenations. */
const textScratch = Buffer.allocUnsafeSlow(TEXT_BYTES);

/**
 * `count` UUIDv7, ascending byte by byte. `nowMs` is wall time. All share one allocation and one draw of randomness; the
 * last 31 bits count up from a random start, so two batches of one millisecond do not meet (43 random bits before that).
 */
export function mintUuids(count: number, nowMs: number): Buffer[] {
  if (!Number.isSafeInteger(count) || count < 0 || count >= MAX_BATCH)
    throw new RangeError(`cannot mint ${count} ids`);
  if (count === 0) return [];
  const ids = Buffer.allocUnsafe(count * UUID_BYTES);
  ids.writeUIntBE(Math.floor(nowMs), 0, 6);
  takeRandom(ids, 6);
  ids[6] = 0x70 | (ids[6] & 0x0f);
  ids[8] = 0x80 | (ids[8] & 0x3f);
  ids[12] &= 0x7f; // the top bit takes the carry, so that counting never wraps
  const counter = ids.readUInt32BE(PREFIX_BYTES);

  const minted: Buffer[] = [ids.subarray(0, UUID_BYTES)];
  for (let i = 1, at = UUID_BYTES; i < count; i++, at += UUID_BYTES) {
    for (let byte = 0; byte < PREFIX_BYTES; byte++) ids[at + byte] = ids[byte];
    ids.writeUInt32BE(counter + i, at + PREFIX_BYTES);
    minted.push(ids.subarray(at, at + UUID_BYTES));
  }
  return minted;
}

/** One UUIDv7, for what is not minted in batches (a lease, a worker). */
export function mintUuid(nowMs: number): Buffer {
  return mintUuids(1, nowMs)[0];
}

/** Lower-case text of the uuid at `at`. */
export function uuidText(uuid: Buffer, at = 0): string {
  writeUuidText(textScratch, 0, uuid, at);
  return textScratch.toString('latin1');
}

/** Writes the 36 characters of the uuid at `uuidAt` into `target`; returns where they end. */
export function writeUuidText(target: Buffer, at: number, uuid: Buffer, uuidAt = 0): number {
  for (let i = 0; i < UUID_BYTES; i++) {
    const byte = uuid[uuidAt + i];
    target[at + TEXT_AT[i]] = HEX_DIGITS[byte >> 4];
    target[at + TEXT_AT[i] + 1] = HEX_DIGITS[byte & 0x0f];
  }
  for (const dash of DASH_AT) target[at + dash] = DASH;
  return at + TEXT_BYTES;
}

/** The 16 bytes of a uuid of any version in its 36-character form, either case; null for every other text. */
export function parseUuid(text: string): Buffer | null {
  if (text.length !== TEXT_BYTES) return null;
  for (const dash of DASH_AT) if (text.charCodeAt(dash) !== DASH) return null;
  const uuid = Buffer.allocUnsafe(UUID_BYTES);
  for (let i = 0; i < UUID_BYTES; i++) {
    const high = digitValue(text.charCodeAt(TEXT_AT[i]));
    const low = digitValue(text.charCodeAt(TEXT_AT[i] + 1));
    if (high > 15 || low > 15) return null;
    uuid[i] = (high << 4) | low;
  }
  return uuid;
}

function digitValue(code: number): number {
  return code < 128 ? DIGIT_VALUES[code] : 255;
}

function takeRandom(target: Buffer, at: number): void {
  if (randomUsed === randomPool.length) {
    randomFillSync(randomPool);
    randomUsed = 0;
  }
  randomPool.copy(target, at, randomUsed, randomUsed + RANDOM_BYTES);
  randomUsed += RANDOM_BYTES;
}
