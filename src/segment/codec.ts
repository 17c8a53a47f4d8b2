import { createRequire } from 'node:module';

/**
 * Raw LZ4 blocks: no header, no length. `lz4` compiles at install, so it is optional; the prebuilt `lz4-napi` takes its
 * place where it cannot load. Both write the same format and read what the other wrote.
 */
export interface BlockCodec {
  /** The package at work, for the log. */
  readonly name: 'lz4' | 'lz4-napi';
  /** Compresses `raw` into `target`; returns the bytes written, or 0 when they do not fit. */
  encode(raw: Buffer, target: Buffer): number;
  /** Decompresses `block` into `target`; returns the bytes written, or a negative number for a bad block or a small target. */
  decode(block: Buffer, target: Buffer): number;
}

/** An LZ4 block can never grow by more than this when decompressed: one length byte stands for at most 255 bytes. */
export const MAX_EXPANSION = 255;

interface NativeLz4 {
  encodeBlock(raw: Buffer, target: Buffer): number;
  decodeBlock(block: Buffer, target: Buffer): number;
}

interface NapiLz4 {
  compress(raw: Buffer): Promise<Buffer>;
  compressSync(raw: Buffer): Buffer;
  uncompressSync(packed: Buffer): Buffer;
}

const NAPI_LENGTH_BYTES = 4;

export function loadBlockCodec(load: (name: string) => unknown = createRequire(import.meta.url)): BlockCodec {
  try {
    return nativeCodec(load('lz4') as NativeLz4);
  } catch {
    return napiCodec(load('lz4-napi') as NapiLz4);
  }
}

/**
 * Only the two block functions of `lz4`: its encode, decode and streams allocate 4 MiB a call that a synchronous loop
 * does not give back.
 */
function nativeCodec(lz4: NativeLz4): BlockCodec {
  return {
    name: 'lz4',
    encode: (raw, target) => lz4.encodeBlock(raw, target),
    decode: (block, target) => lz4.decodeBlock(block, target),
  };
}

/**
 * The block of `raw`, made on a thread of its own; null when it gains nothing. Always by `lz4-napi`: `lz4` has no such
 * call for blocks. `raw` must stay as it is until then.
 */
export async function compressApart(raw: Buffer): Promise<Buffer | null> {
  const lz4 = createRequire(import.meta.url)('lz4-napi') as NapiLz4;
  const packed = await lz4.compress(raw);
  return packed.length - NAPI_LENGTH_BYTES < raw.length ? packed.subarray(NAPI_LENGTH_BYTES) : null;
}

/** `lz4-napi` puts the raw length before the block and, when reading, allocates whatever that length says. */
function napiCodec(lz4: NapiLz4): BlockCodec {
  return {
    name: 'lz4-napi',
    encode(raw, target) {
      const packed = lz4.compressSync(raw);
      if (packed.length - NAPI_LENGTH_BYTES > target.length) return 0;
      return packed.copy(target, 0, NAPI_LENGTH_BYTES);
    },
    decode(block, target) {
      const packed = Buffer.allocUnsafe(NAPI_LENGTH_BYTES + block.length);
      packed.writeUInt32LE(target.length);
      block.copy(packed, NAPI_LENGTH_BYTES);
      try {
        return lz4.uncompressSync(packed).copy(target);
      } catch {
        return -1;
      }
    },
  };
}
