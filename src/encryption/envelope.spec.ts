import { createDecipheriv, randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ENVELOPE_BYTES, mayBeEnvelope, openEnvelope, sealPayload } from './envelope.js';

const KEY = Buffer.alloc(32, 7);
const PAYLOAD = Buffer.from('{"b": 1.0, "☃":12345678901234567890}');

const parsed = (envelope: Buffer) => JSON.parse(envelope.toString()) as Record<string, string>;
const written = (envelope: Record<string, unknown>) => Buffer.from(JSON.stringify(envelope));

describe('an envelope', () => {
  it('is what http-api 3.1 says, for anybody who has the key', () => {
    const envelope = parsed(sealPayload(KEY, PAYLOAD));
    expect(Object.keys(envelope)).toEqual(['encrypted', 'iv', 'authTag']);
    const [sealed, iv, tag] = Object.values(envelope).map((text) => Buffer.from(text, 'base64'));
    expect([iv.length, tag.length]).toEqual([16, 16]);
    const decipher = createDecipheriv('aes-256-gcm', KEY, iv.subarray(0, 12)).setAuthTag(tag);
    expect(Buffer.concat([decipher.update(sealed), decipher.final()])).toEqual(PAYLOAD);
  });

  it('opens to the same bytes, whatever they are', () => {
    const payloads = fc.oneof(
      fc.uint8Array({ maxLength: 2000 }),
      // Around the borders of the pieces in which large ones are sealed.
      fc.nat(5).map((more) => randomBytes(2 * 48 * 1024 - 2 + more)),
    );
    fc.assert(
      fc.property(payloads, (bytes) => {
        const payload = Buffer.from(bytes);
        const envelope = sealPayload(KEY, payload);
        expect(envelope.length).toBe(ENVELOPE_BYTES + Math.ceil(payload.length / 3) * 4);
        expect(mayBeEnvelope(envelope)).toBe(true);
        expect(openEnvelope(KEY, envelope)?.equals(payload)).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  it('differs each time, so that equal payloads cannot be seen to be equal', () => {
    const [one, other] = [sealPayload(KEY, PAYLOAD), sealPayload(KEY, PAYLOAD)].map(parsed);
    expect(one.iv).not.toBe(other.iv);
    expect(one.encrypted).not.toBe(other.encrypted);
  });

  it('may have its keys in any order', () => {
    const { encrypted, iv, authTag } = parsed(sealPayload(KEY, PAYLOAD));
    for (const other of [
      { authTag, encrypted, iv },
      { iv, encrypted, authTag },
    ]) {
      expect(mayBeEnvelope(written(other))).toBe(true);
      expect(openEnvelope(KEY, written(other))).toEqual(PAYLOAD);
    }
  });

  it('of another key, or with a bit changed anywhere, does not open', () => {
    const envelope = parsed(sealPayload(KEY, PAYLOAD));
    expect(openEnvelope(Buffer.alloc(32, 8), written(envelope))).toBeNull();
    for (const name of ['encrypted', 'authTag', 'iv'] as const) {
      const bytes = Buffer.from(envelope[name], 'base64');
      bytes[0] ^= 1;
      const changed = written({ ...envelope, [name]: bytes.toString('base64') });
      expect([name, openEnvelope(KEY, changed)]).toEqual([name, null]);
    }
  });

  it('with a shortened tag does not open: it would be easier to forge', () => {
    const envelope = parsed(sealPayload(KEY, PAYLOAD));
    const authTag = Buffer.from(envelope.authTag, 'base64').subarray(0, 4).toString('base64');
    expect(openEnvelope(KEY, written({ ...envelope, authTag }))).toBeNull();
  });

  it.each([
    '',
    'null',
    '7',
    '[]',
    '{}',
    '{"encrypted":"AA==","iv":"AA==","authTag":"AA=="}',
    '{"encrypted":"AA==","iv":"AA=="}',
    '{"encrypted":1,"iv":"","authTag":""}',
    '{"encrypted":"',
  ])('%j is none', (text) => {
    expect(openEnvelope(KEY, Buffer.from(text))).toBeNull();
  });

  it('with a key more is none', () => {
    const envelope = parsed(sealPayload(KEY, PAYLOAD));
    expect(openEnvelope(KEY, written({ ...envelope, more: '' }))).toBeNull();
  });
});

it.each(['', '{', '{"id":"x"}', '{"event":"x"}', '{"encryptedX":"x"}', '["encrypted"]', '{"a":"x"}'])(
  '%j is not taken for one',
  (text) => {
    expect(mayBeEnvelope(Buffer.from(text))).toBe(false);
  },
);
