import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/**
 * `{"encrypted":b64,"iv":b64,"authTag":b64}`: AES-256-GCM as http-api 3.1 lays it down. Of the 16 random IV bytes that
 * are stored the first 12 are the nonce.
 */
const ALGORITHM = 'aes-256-gcm';
const IV_BYTES = 16;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

const HEAD = Buffer.from('{"encrypted":"');
/** A multiple of three, so that the base64 of the pieces is the base64 of the whole. */
const CHUNK_BYTES = 48 * 1024;

/** What an envelope is longer than the base64 of its content: keys and punctuation, and two base64 of 16 bytes. */
export const ENVELOPE_BYTES = 85;

const UNITS_PER_ENVELOPE = 10;
const BYTES_PER_UNIT = 512;

/** What an envelope of so many bytes costs to make, in the unit of a push's TurnBudget: about a microsecond. */
export function sealUnits(envelopeBytes: number): number {
  return UNITS_PER_ENVELOPE + envelopeBytes / BYTES_PER_UNIT;
}

const KEYS = ['authTag', 'encrypted', 'iv'];
/** Whichever of the keys comes first. */
const HEADS = KEYS.map((key) => Buffer.from(`{"${key}":"`));

export function sealPayload(key: Buffer, payload: Buffer): Buffer {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(ALGORITHM, key, iv.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
  const envelope = Buffer.allocUnsafe(ENVELOPE_BYTES + Math.ceil(payload.length / 3) * 4);
  let at = HEAD.copy(envelope);
  for (let start = 0; start < payload.length; start += CHUNK_BYTES) {
    const chunk = cipher.update(payload.subarray(start, start + CHUNK_BYTES));
    at += envelope.write(chunk.toString('base64'), at, 'latin1');
  }
  cipher.final();
  at += envelope.write(`","iv":"${iv.toString('base64')}`, at, 'latin1');
  envelope.write(`","authTag":"${cipher.getAuthTag().toString('base64')}"}`, at, 'latin1');
  return envelope;
}

/** Cheap, and true for every envelope that a broker wrote: nothing is parsed, and most payloads differ in the third byte. */
export function mayBeEnvelope(payload: Buffer): boolean {
  return HEADS.some(
    (head) =>
      payload[2] === head[2] && payload.length > head.length && head.compare(payload, 0, head.length) === 0,
  );
}

/** What was sealed; null for what is no envelope, or one of another key, or damaged. */
export function openEnvelope(key: Buffer, payload: Buffer): Buffer | null {
  const envelope = envelopeIn(payload);
  if (!envelope) return null;
  const [authTag, encrypted, iv] = envelope.map((text) => Buffer.from(text, 'base64'));
  // A shorter tag would be accepted by the cipher, and is easier to forge.
  if (authTag.length !== TAG_BYTES || iv.length !== IV_BYTES) return null;
  try {
    const nonce = iv.subarray(0, NONCE_BYTES);
    const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES });
    decipher.setAuthTag(authTag);
    return Buffer.concat([decipher.update(encrypted), decipher.final()]);
  } catch {
    return null;
  }
}

/** The texts of authTag, encrypted and iv, when these three and nothing else are there. */
function envelopeIn(payload: Buffer): string[] | null {
  let object: unknown;
  try {
    object = JSON.parse(payload.toString('latin1'));
  } catch {
    return null;
  }
  if (typeof object !== 'object' || object === null) return null;
  const entries = Object.entries(object as Record<string, unknown>).sort(([a], [b]) => (a < b ? -1 : 1));
  if (entries.length !== KEYS.length) return null;
  const isEnvelope = entries.every(([key, value], i) => key === KEYS[i] && typeof value === 'string');
  return isEnvelope ? entries.map(([, value]) => value as string) : null;
}
