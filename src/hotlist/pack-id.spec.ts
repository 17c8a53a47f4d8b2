import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { packId } from './pack-id.js';

describe('packId', () => {
  it('holds the bytes of a UUID, whatever its case', () => {
    fc.assert(
      fc.property(fc.uuid(), (id) => {
        const packed = Buffer.from(id.replaceAll('-', ''), 'hex').toString('latin1');
        expect(packId(id)).toBe(packed);
        expect(packId(id.toUpperCase())).toBe(packed);
      }),
    );
  });

  it('leaves everything else as it is', () => {
    const id = '018f3a52-7b1c-7def-8abc-0123456789ab';
    const others = [
      '',
      'p1',
      id.slice(1),
      `${id}0`,
      id.replace('0', 'g'),
      id.replace('-', '0'),
      id.replace('a', 'ａ'),
      id.replace('a', '\u0161'),
    ];
    for (const other of others) expect(packId(other)).toBe(other);
  });
});
