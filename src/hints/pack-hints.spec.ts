import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { fromTuple, type Hint } from './hint.js';
import { packHints, PAYLOAD_BYTES_MAX, PAYLOADS_MAX, unpackHints } from './pack-hints.js';

const dirty = (n: number, key = 'tenant\u001forders'): Hint => ({
  kind: 'dirty',
  key,
  partition: `partition-${n}`,
});
const unpackAll = (payloads: string[]) =>
  payloads.flatMap((payload) => unpackHints(payload)!.tuples.map((tuple) => fromTuple(tuple)!));

describe('hints as payloads', () => {
  it('come out as they went in', () => {
    const hints: Hint[] = [
      { kind: 'dirty', key: 't\u001fq', partition: '' },
      { kind: 'dirty', key: 't\u001fq', partition: 'päivää "😀"\\', group: 'g' },
      { kind: 'configured', key: 't\u001fq' },
      { kind: 'dropped', key: 't\u001fq' },
      { kind: 'dirty-queue', key: 't\u001fq' },
      { kind: 'reconcile' },
      { kind: 'hello' },
    ];
    expect(unpackAll(packHints('me', hints))).toEqual(hints);
  });

  it('stay below the size NOTIFY takes, whatever the names', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.string({ unit: 'binary', maxLength: 255 }), fc.nat(5)), { maxLength: 200 }),
        (names) => {
          const hints = names.map(([partition, n]): Hint => ({
            kind: 'dirty',
            key: `t\u001fq${n}`,
            partition,
          }));
          const payloads = packHints('sender', hints);
          for (const payload of payloads)
            expect(Buffer.byteLength(payload)).toBeLessThanOrEqual(PAYLOAD_BYTES_MAX + 200);
          expect(payloads.length).toBeLessThanOrEqual(PAYLOADS_MAX + 2);
        },
      ),
      { numRuns: 50 },
    );
  });

  it('say "the whole queue" once for what does not fit', () => {
    const hints = Array.from({ length: 5000 }, (_, n) => dirty(n));
    const heard = unpackAll(packHints('me', hints));
    expect(heard.filter(({ kind }) => kind === 'dirty-queue')).toEqual([
      { kind: 'dirty-queue', key: 'tenant\u001forders' },
    ]);
    expect(heard.length).toBeLessThan(5000);
  });

  it('of a newer broker, and nonsense, are skipped', () => {
    expect(fromTuple(['z', 'what'])).toBeNull();
    expect(fromTuple(['d'])).toBeNull();
    expect(fromTuple([1])).toBeNull();
    expect(fromTuple(null)).toBeNull();
    expect(unpackHints('not json')).toBeNull();
    expect(unpackHints('{"f":1}')).toBeNull();
    expect(unpackHints('null')).toBeNull();
  });
});
