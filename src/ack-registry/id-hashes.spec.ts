import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { IdHashes } from './id-hashes.js';

function ofText(id: string): number[] {
  const hashes = new IdHashes(1);
  hashes.addText(id);
  return [...hashes.view];
}

function ofBytes(id: string): number[] {
  const bytes = Buffer.from(`<<${id}>>`);
  const hashes = new IdHashes(1);
  hashes.addBytes(bytes, 2, bytes.length - 2);
  return [...hashes.view];
}

describe('IdHashes', () => {
  it('hashes a text as its UTF-8 bytes, as pop finds them in a segment', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), (id) => {
        fc.pre(id.isWellFormed());
        expect(ofText(id)).toEqual(ofBytes(id));
      }),
    );
  });

  it('does so at the lengths where the way of copying changes', () => {
    for (const length of [0, 1, 63, 64, 65, 1365, 1366, 4096, 65_535]) {
      for (const unit of ['x', 'é', '好', '😀']) {
        const id = unit.repeat(length);
        expect(ofText(id)).toEqual(ofBytes(id));
      }
    }
  });

  it('takes more ids than expected', () => {
    const grown = new IdHashes(1);
    const roomy = new IdHashes(100);
    for (let i = 0; i < 100; i++) {
      grown.addText(`id-${i}`);
      roomy.addText(`id-${i}`);
    }
    expect(grown.size).toBe(100);
    expect([...grown.view]).toEqual([...roomy.view]);
  });
});
