import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { textFlaw, withoutFlaws } from './text-flaw.js';

describe('textFlaw', () => {
  it.each([
    ['', null],
    ['plain é 😀 \u{10ffff} \ufffd', null],
    ['a\0b', 'U+0000'],
    ['\ud83d', 'a lone surrogate'],
    ['\ude00\ud83d', 'a lone surrogate'],
    ['😀\ud83d', 'a lone surrogate'],
  ])('judges %j as %j', (text, flaw) => {
    expect(textFlaw(text)).toBe(flaw);
  });
});

describe('withoutFlaws', () => {
  it('replaces each flaw and keeps the rest', () => {
    expect(withoutFlaws('a\0b\ud83d😀\ude00')).toBe('a\ufffdb\ufffd😀\ufffd');
  });

  it('leaves no flaw in any text, and a text without one as it is', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 0xffff })), (units) => {
        const text = String.fromCharCode(...units);
        const clean = withoutFlaws(text);
        expect(textFlaw(clean)).toBeNull();
        expect(clean.length).toBe(text.length);
        expect(clean === text).toBe(textFlaw(text) === null);
      }),
    );
  });
});
