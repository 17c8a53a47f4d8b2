import { createRequire } from 'node:module';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { loadBlockCodec, type BlockCodec } from './codec.js';

const load = createRequire(import.meta.url);
const withoutCompiler = (name: string): unknown => {
  if (name === 'lz4') throw new Error('Cannot find module ../build/Release/lz4');
  return load(name);
};

/** `lz4` may be missing here as it may be in production; the prebuilt one is always there. */
const installed = loadBlockCodec();
const prebuilt = loadBlockCodec(withoutCompiler);
const pairs: [BlockCodec, BlockCodec][] = [
  [installed, installed],
  [installed, prebuilt],
  [prebuilt, installed],
  [prebuilt, prebuilt],
];

const TEXT = Buffer.from('the quick brown fox, the quick brown fox, the quick brown fox, the lazy dog');
/** TEXT as the reference implementation of LZ4 compresses it. */
const TEXT_BLOCK = Buffer.from(
  'ff0674686520717569636b2062726f776e20666f782c2015001b806c617a7920646f67',
  'hex',
);

const repetitive = fc
  .tuple(
    fc.uint8Array({ minLength: 1, maxLength: 40 }),
    fc.integer({ min: 20, max: 400 }),
    fc.uint8Array({ maxLength: 60 }),
  )
  .map(([part, times, tail]) => Buffer.concat([...Array<Uint8Array>(times).fill(part), tail]));

function blockOf(codec: BlockCodec, raw: Buffer): Buffer {
  const target = Buffer.alloc(raw.length + 64);
  return target.subarray(0, codec.encode(raw, target));
}

describe('loadBlockCodec', () => {
  it('falls back to the prebuilt package when the compiled one cannot load', () => {
    expect(prebuilt.name).toBe('lz4-napi');
  });

  it('takes the compiled package where it loads', () => {
    const fake = { encodeBlock: () => 1, decodeBlock: () => 2 };
    const codec = loadBlockCodec((name) => (name === 'lz4' ? fake : undefined));
    expect(codec.name).toBe('lz4');
    expect([codec.encode(TEXT, TEXT), codec.decode(TEXT, TEXT)]).toEqual([1, 2]);
  });

  it('fails when neither loads, naming the one that is always shipped', () => {
    const nothing = (name: string): unknown => {
      throw new Error(`no ${name}`);
    };
    expect(() => loadBlockCodec(nothing)).toThrow('no lz4-napi');
  });
});

describe.each(pairs)('blocks written by $name', (writer, reader) => {
  it(`are read by ${reader.name}`, () => {
    fc.assert(
      fc.property(repetitive, (raw) => {
        const block = blockOf(writer, raw);
        expect(block.length).toBeGreaterThan(0);
        const target = Buffer.alloc(raw.length);
        expect(reader.decode(block, target)).toBe(raw.length);
        expect(target.equals(raw)).toBe(true);
      }),
    );
  });
});

describe.each([...new Set([installed, prebuilt])])('$name', (codec) => {
  it('reads a block of the reference implementation', () => {
    const target = Buffer.alloc(TEXT.length);
    expect(codec.decode(TEXT_BLOCK, target)).toBe(TEXT.length);
    expect(target).toEqual(TEXT);
  });

  it('writes nothing beyond a target that is too small, and says so', () => {
    const raw = Buffer.from('no repetition here: 0123456789abcdefghijklmnopqrstuvwxyz'.repeat(2));
    const guarded = Buffer.alloc(30, 0xaa);
    expect(codec.encode(raw, guarded.subarray(0, 20))).toBe(0);
    expect(guarded.subarray(20)).toEqual(Buffer.alloc(10, 0xaa));
    expect(codec.decode(TEXT_BLOCK, guarded.subarray(0, 20))).toBeLessThan(0);
    expect(guarded.subarray(20)).toEqual(Buffer.alloc(10, 0xaa));
  });

  it('answers every damaged block with a number and stays inside the target', () => {
    fc.assert(
      fc.property(repetitive, fc.nat(), fc.integer({ min: 1, max: 255 }), (raw, position, change) => {
        const block = Buffer.from(blockOf(codec, raw));
        block[position % block.length] ^= change;
        const guarded = Buffer.alloc(raw.length + 16, 0xaa);
        expect(codec.decode(block, guarded.subarray(0, raw.length))).toBeLessThanOrEqual(raw.length);
        expect(guarded.subarray(raw.length)).toEqual(Buffer.alloc(16, 0xaa));
      }),
      { numRuns: 500 },
    );
  });
});
