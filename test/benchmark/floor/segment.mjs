import { loadBlockCodec } from '../../../dist/segment/codec.js';

/*
 * The leanest segment: u32 raw length · u32 frames · raw bytes or an LZ4 block, whichever is shorter; each frame
 * u16 n, n transactionId · u32 n, n payload. No ids, flags or checksums.
 */
const HEAD_BYTES = 8;
const codec = loadBlockCodec();
let raw = Buffer.allocUnsafeSlow(1 << 20);
let packed = Buffer.allocUnsafeSlow(1 << 20);

/** @param {{ transactionId: string, payload: string }[]} messages Latin-1 texts */
export function encodeSegment(messages) {
  let size = 0;
  for (const { transactionId, payload } of messages) size += 6 + transactionId.length + payload.length;
  if (raw.length < size) raw = Buffer.allocUnsafeSlow(size * 2);
  let at = 0;
  for (const { transactionId, payload } of messages) {
    at = raw.writeUInt16LE(transactionId.length, at);
    at += raw.latin1Write(transactionId, at);
    at = raw.writeUInt32LE(payload.length, at);
    at += raw.latin1Write(payload, at);
  }
  if (packed.length < size) packed = Buffer.allocUnsafeSlow(size * 2);
  const length = codec.encode(raw.subarray(0, size), packed.subarray(0, size - 1));
  const blob = Buffer.allocUnsafe(HEAD_BYTES + (length || size));
  blob.writeUInt32LE(size, 0);
  blob.writeUInt32LE(messages.length, 4);
  (length ? packed : raw).copy(blob, HEAD_BYTES, 0, length || size);
  return blob;
}

/** @returns {{ transactionId: string, payload: string }[]} frames [start, start + take) */
export function decodeSegment(blob, start, take) {
  const size = blob.readUInt32LE(0);
  let bytes = blob.subarray(HEAD_BYTES);
  if (bytes.length < size) {
    if (raw.length < size) raw = Buffer.allocUnsafeSlow(size * 2);
    const target = raw.subarray(0, size);
    if (codec.decode(bytes, target) !== size) throw new Error('a segment cannot be read');
    bytes = target;
  }
  const messages = [];
  for (let k = 0, at = 0; k < start + take; k++) {
    const payloadAt = at + 2 + bytes.readUInt16LE(at);
    const end = payloadAt + 4 + bytes.readUInt32LE(payloadAt);
    if (k >= start) {
      messages.push({
        transactionId: bytes.latin1Slice(at + 2, payloadAt),
        payload: bytes.latin1Slice(payloadAt + 4, end),
      });
    }
    at = end;
  }
  return messages;
}
