import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { mintUuid, mintUuids, parseUuid, uuidText, writeUuidText } from './uuid-v7.js';

const NOW_MS = Date.UTC(2026, 6, 31, 12, 0, 0, 123);
const uuidBytes = fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => Buffer.from(bytes));

describe('mintUuids', () => {
  it('writes time, version and variant where RFC 9562 has them', () => {
    for (const id of mintUuids(50, NOW_MS)) {
      expect(id.length).toBe(16);
      expect(id.readUIntBE(0, 6)).toBe(NOW_MS);
      expect(uuidText(id)).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    }
  });

  it('counts up inside a batch, byte by byte', () => {
    const ids = mintUuids(70_000, NOW_MS);
    for (let i = 1; i < ids.length; i++) {
      if (Buffer.compare(ids[i - 1], ids[i]) >= 0) throw new Error(`id ${i} does not follow id ${i - 1}`);
    }
  });

  it('starts its counter low enough that no batch can overflow it', () => {
    for (let batch = 0; batch < 200; batch++) expect(mintUuid(NOW_MS)[12]).toBeLessThan(0x80);
  });

  it('never mints an id twice, within a batch or across batches of one millisecond', () => {
    const seen = new Set<string>();
    for (let batch = 0; batch < 2_000; batch++) {
      for (const id of mintUuids(1 + (batch % 7), NOW_MS)) seen.add(uuidText(id));
    }
    const minted = Array.from({ length: 2_000 }, (_, batch) => 1 + (batch % 7)).reduce((a, b) => a + b);
    expect(seen.size).toBe(minted);
  });

  it('sorts batches by their time', () => {
    expect(Buffer.compare(mintUuid(NOW_MS), mintUuid(NOW_MS + 1))).toBe(-1);
  });

  it('mints none when none are wanted and refuses what it cannot count', () => {
    expect(mintUuids(0, NOW_MS)).toEqual([]);
    for (const count of [-1, 1.5, NaN, 2 ** 31]) expect(() => mintUuids(count, NOW_MS)).toThrow(RangeError);
  });
});

describe('uuid text', () => {
  it('is 36 lower-case characters', () => {
    expect(uuidText(Buffer.from('00112233445566778899aabbccddeeff', 'hex'))).toBe(
      '00112233-4455-6677-8899-aabbccddeeff',
    );
  });

  it('comes back as the same bytes, in either case, wherever it stands', () => {
    fc.assert(
      fc.property(uuidBytes, fc.nat(20), (uuid, at) => {
        const text = uuidText(Buffer.concat([Buffer.alloc(at), uuid]), at);
        expect(parseUuid(text)).toEqual(uuid);
        expect(parseUuid(text.toUpperCase())).toEqual(uuid);
        const target = Buffer.alloc(at + 37, '.');
        expect(writeUuidText(target, at, uuid)).toBe(at + 36);
        expect(target.toString('latin1')).toBe(`${'.'.repeat(at)}${text}.`);
      }),
    );
  });

  it.each([
    '',
    '00112233-4455-6677-8899-aabbccddeef',
    '00112233-4455-6677-8899-aabbccddeeff0',
    '00112233445566778899aabbccddeeff',
    '{0112233-4455-6677-8899-aabbccddeef}',
    '00112233-4455-6677-8899-aabbccddeefg',
    '00112233-4455-6677-8899-aabbccddeef\u0666',
    '0011223304455-6677-8899-aabbccddeeff',
    ' 0112233-4455-6677-8899-aabbccddeeff',
    '+0112233-4455-6677-8899-aabbccddeeff',
  ])('%j is no uuid', (text) => {
    expect(parseUuid(text)).toBeNull();
  });

  it('agrees with the pattern of a uuid on every change of one character', () => {
    const pattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
    fc.assert(
      fc.property(
        uuidBytes,
        fc.nat(35),
        fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
        (uuid, at, char) => {
          const text = uuidText(uuid);
          const changed = text.slice(0, at) + char + text.slice(at + 1);
          expect(parseUuid(changed) !== null).toBe(pattern.test(changed));
        },
      ),
    );
  });
});
