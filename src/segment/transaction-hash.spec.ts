import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { HASH_BYTES, hashTransactionId, hashTransactionIds } from './transaction-hash.js';

describe('transaction hash', () => {
  // Known vectors of XXH3_128bits with seed 0: the bytes are stored, so their order is part of the format.
  it.each([
    ['', '99aa06d3014798d86001c324468d497f'],
    ['a', 'a96faf705af16834e6c632b61e964e1f'],
  ])('of %j is the known one, high byte first', (text, hex) => {
    expect(hashTransactionId(text).toString('hex')).toBe(hex);
  });

  it('is over UTF-8 bytes, whether it is given text or bytes', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), (text) => {
        expect(hashTransactionId(text)).toEqual(hashTransactionId(Buffer.from(text)));
      }),
    );
    expect(hashTransactionId('a\0b')).toEqual(hashTransactionId(Buffer.from([97, 0, 98])));
    expect(hashTransactionId('a\0b')).not.toEqual(hashTransactionId('a'));
  });

  it('of a batch puts hash k at byte 16 k', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'grapheme' })), (texts) => {
        const hashes = hashTransactionIds(texts);
        expect(hashes.length).toBe(texts.length * HASH_BYTES);
        texts.forEach((text, k) => {
          expect(hashes.subarray(k * HASH_BYTES, (k + 1) * HASH_BYTES)).toEqual(hashTransactionId(text));
        });
      }),
    );
  });
});
