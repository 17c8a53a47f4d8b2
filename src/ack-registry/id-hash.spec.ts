import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { hashId } from './id-hash.js';

function hex(text: string, seed = 0): string {
  const bytes = Buffer.from(text);
  const words = new Int32Array(4);
  hashId(words, 0, bytes, 0, bytes.length, seed);
  return [...words].map((word) => (word >>> 0).toString(16).padStart(8, '0')).join('');
}

describe('hashId', () => {
  it('agrees with the published values of MurmurHash3 x86 128', () => {
    expect(hex('')).toBe('00000000000000000000000000000000');
    expect(hex('The quick brown fox jumps over the lazy dog')).toBe('2f1583c3ecee2c675d7bf66ce5e91d2c');
    expect(hex("I will not buy this tobacconist's, it is scratched.")).toBe(
      '9b5b7ba2ef3f7866889adeaf00f3f98e',
    );
  });

  it('gives each length of tail another hash, and each seed', () => {
    const texts = Array.from({ length: 40 }, (_, i) =>
      'abcdefghijklmnopqrstuvwxyz0123456789-_.+'.slice(0, i + 1),
    );
    expect(new Set(texts.map((text) => hex(text))).size).toBe(texts.length);
    expect(hex('abc', 1)).not.toBe(hex('abc', 2));
  });

  it('reads only its range and writes only its four words', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), fc.nat(20), fc.nat(20), (bytes, before, after) => {
        const padded = new Uint8Array(before + bytes.length + after).fill(0xa5);
        padded.set(bytes, before);
        const words = new Int32Array(6).fill(7);
        hashId(words, 1, padded, before, before + bytes.length, 42);
        const alone = new Int32Array(4);
        hashId(alone, 0, bytes, 0, bytes.length, 42);
        expect([...words]).toEqual([7, ...alone, 7]);
      }),
    );
  });
});
