import { describe, expect, it, jest } from '@jest/globals';
import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { BrokerError } from '../base/errors/broker-error.js';
import type { FrameInput } from './frame.js';
import { SegmentDamagedError } from './segment-damaged.error.js';
import { decodeSegment, encodeSegment, MAX_RAW_BYTES, SEGMENT_HEAD_BYTES } from './segment.js';
import { parseUuid, uuidText } from './uuid-v7.js';

function idOf(n: number): Buffer {
  return Buffer.from(`0190c1d2aaaa7bbb8ccc00000000${n.toString(16).padStart(4, '0')}`, 'hex');
}

function frameOf(n: number, payload = `{"n":${n},"pad":"abcabcabc"}`): FrameInput {
  return {
    messageId: idOf(n),
    transactionId: Buffer.from(`order-${n}`),
    payload: Buffer.from(payload),
    encrypted: false,
  };
}

const framesOf = (count: number) => Array.from({ length: count }, (_, n) => frameOf(n));
const small = () => encodeSegment(framesOf(1));
const large = () => encodeSegment(framesOf(20));

/** `blob` with `change` made to its head and the checksum put right again, as a faulty writer would leave it. */
function forged(
  blob: Buffer,
  change: (head: Buffer) => void,
  raw: Buffer = blob.subarray(SEGMENT_HEAD_BYTES),
): Buffer {
  const copy = Buffer.from(blob);
  change(copy);
  copy.writeUInt32LE(crc32(raw, crc32(copy.subarray(0, 10))), 10);
  return copy;
}

describe('encodeSegment', () => {
  it('stores a few bytes as they are', () => {
    const blob = small();
    expect([blob[0], blob[1]]).toEqual([1, 0]);
    expect(blob.includes('{"n":0,"pad":"abcabcabc"}')).toBe(true);
  });

  it('compresses what gains by it', () => {
    const blob = large();
    expect([blob[0], blob[1]]).toEqual([1, 1]);
    expect(blob.length).toBeLessThan(blob.readUInt32LE(6) / 2);
  });

  it('stores what does not gain by it', () => {
    const digests = Array.from({ length: 64 }, (_, n) => createHash('sha256').update(String(n)).digest());
    const noise = Buffer.concat(digests);
    const blob = encodeSegment([{ ...frameOf(0), payload: noise }]);
    expect(blob[1]).toBe(0);
    expect(blob.length).toBe(blob.readUInt32LE(6) + SEGMENT_HEAD_BYTES);
    expect(decodeSegment(blob, 1).frames()[0].payload).toEqual(noise);
  });

  it('keeps equal transactionIds apart', () => {
    const twin = frameOf(1);
    expect(decodeSegment(encodeSegment([twin, twin]), 2).frames()).toHaveLength(2);
  });

  it('refuses an empty segment and one beyond the limit', () => {
    expect(() => encodeSegment([])).toThrow(RangeError);
    // A quarter of the limit, five times: no single payload is too large.
    const quarter = { ...frameOf(0), payload: Buffer.alloc(MAX_RAW_BYTES / 4) };
    expect(() => encodeSegment(Array<FrameInput>(5).fill(quarter))).toThrow(RangeError);
  });
});

describe('decodeSegment', () => {
  it('reads a stored blob of version 1, whatever later versions write', () => {
    const blob = Buffer.from(
      '01000100000040000000fff679df3c0000000f0190c1d2aaaa7bbb8ccc0000000000010190c1d2aaaa7bbb8ccc' +
        '00000000000201007402006d6509007b2261223a2262227d7b226e223a312e307d',
      'hex',
    );
    const [frame] = decodeSegment(blob, 1).frames();
    expect(uuidText(frame.messageId)).toBe('0190c1d2-aaaa-7bbb-8ccc-000000000001');
    expect(frame.traceId).toEqual(parseUuid('0190c1d2-aaaa-7bbb-8ccc-000000000002'));
    expect(frame.transactionId.toString()).toBe('t');
    expect(frame.producerSub?.toString()).toBe('me');
    expect(frame.headers?.toString()).toBe('{"a":"b"}');
    expect(frame.payload.toString()).toBe('{"n":1.0}');
    expect(frame.encrypted).toBe(true);
  });

  it('reads a compressed blob of version 1', () => {
    const blob = Buffer.from(
      '01011400000060040000050b42c8f00033000000000190c1d2aaaa7bbb8ccc0e00f20d000007006f726465722d307b226e223a302c22706164' +
        '223a2261626303002f227d37000114013700113137001f3137001414023700113237001f3237001414033700113337001f33370014140437' +
        '00113437001f3437001414053700113537001f3537001414063700113637001f3637001414073700113737001f3737001414083700113837' +
        '001f3837001414093700113937001f39370000103516020b2602230a082602123127021f312802010f390001150b39000329020f2a02010f' +
        '390001150c3900022b021f312c02010f390001150d3900022d021f312e02010f390001150e3900022f021f313002010f390001150f390002' +
        '31021f313202010f390001151039000233021f313402010f390001151139000235021f313602010f390001151239000237021f313802010f' +
        '390001151339000239021b313a0250616263227d',
      'hex',
    );
    const frames = decodeSegment(blob, 20).frames();
    expect(frames.map((frame) => frame.payload.toString())).toEqual(
      framesOf(20).map(({ payload }) => payload.toString()),
    );
  });

  it('cuts only the frames asked for', () => {
    const segment = decodeSegment(large(), 20);
    const ids = (startIdx?: number, take?: number) =>
      segment.frames(startIdx, take).map((f) => f.transactionId.toString());
    expect(ids(3, 2)).toEqual(['order-3', 'order-4']);
    expect(ids(19)).toEqual(['order-19']);
    expect(ids(20)).toEqual([]);
    expect(ids()).toHaveLength(20);
  });

  it.each([
    [-1, 1],
    [0, 21],
    [20, 1],
    [0, -1],
    [NaN, 1],
  ])('refuses the slice [%d, +%d), which no row has', (startIdx, take) => {
    expect(() => decodeSegment(large(), 20).frames(startIdx, take)).toThrow(RangeError);
  });

  it('gives frames that later calls do not touch', () => {
    const first = decodeSegment(large(), 20).frames();
    const before = first.map((frame) => Buffer.from(frame.payload));
    const others = Array.from({ length: 30 }, (_, n) => frameOf(n, `"${'z'.repeat(500)}"`));
    decodeSegment(encodeSegment(others), 30).frames();
    expect(first.map((frame) => frame.payload)).toEqual(before);
  });

  it('speaks with the code clients see and carries nothing of the messages', () => {
    const blob = small();
    blob[40] ^= 1;
    let error: unknown;
    try {
      decodeSegment(blob, 1);
    } catch (caught) {
      error = caught;
    }
    expect(error).toBeInstanceOf(BrokerError);
    expect(error).toMatchObject({
      code: 'segment_damaged',
      message: 'segment damaged: the checksum differs',
    });
  });

  it.each([
    ['nothing at all', Buffer.alloc(0), 1, 'shorter than its head'],
    ['half a head', small().subarray(0, 10), 1, 'shorter than its head'],
    ['another version', forged(small(), (head) => (head[0] = 2)), 1, 'unknown version 2'],
    ['an unknown codec', forged(small(), (head) => (head[1] = 7)), 1, 'unknown codec 7'],
    ['a count that is not its row’s', small(), 2, 'holds 1 messages, its row says 2'],
    [
      'a codec it was not written with',
      forged(large(), (head) => (head[1] = 0)),
      20,
      'cut short or lengthened',
    ],
    [
      'a stored body as a block',
      forged(small(), (head) => (head[1] = 1)),
      1,
      'the block does not decompress',
    ],
    ['a byte more', Buffer.concat([small(), Buffer.alloc(1)]), 1, 'cut short or lengthened'],
    ['a byte less', small().subarray(0, -1), 1, 'cut short or lengthened'],
    ['a block cut short', large().subarray(0, -1), 20, 'the block does not decompress'],
    [
      'too many messages for its length',
      forged(small(), (head) => head.writeUInt32LE(3, 2)),
      3,
      'too short for its messages',
    ],
    [
      'a wrong raw length',
      forged(large(), (head) => head.writeUInt32LE(1100, 6)),
      20,
      'the block does not decompress',
    ],
  ])('refuses %s', (_what, blob, count, what) => {
    expect(() => decodeSegment(blob, count)).toThrow(new SegmentDamagedError(what));
  });

  it('refuses frames that a faulty writer put together, though the checksum is right', () => {
    const body = small().subarray(SEGMENT_HEAD_BYTES);
    const withBody = (raw: Buffer, count: number) =>
      forged(
        Buffer.concat([small().subarray(0, SEGMENT_HEAD_BYTES), raw]),
        (head) => {
          head.writeUInt32LE(count, 2);
          head.writeUInt32LE(raw.length, 6);
        },
        raw,
      );
    const refusals: [Buffer, number, string][] = [
      [withBody(Buffer.concat([body, Buffer.alloc(30)]), 1), 1, 'bytes follow the last message'],
      [withBody(Buffer.concat([body, Buffer.alloc(30)]), 2), 2, 'a frame is shorter than its fixed part'],
      [
        withBody(Buffer.concat([Buffer.from([0, 0, 0, 0x80]), body.subarray(4)]), 1),
        1,
        'a frame is longer than the segment',
      ],
      [withBody(Buffer.concat([body, body.subarray(0, 22)]), 2), 2, 'a frame is cut short'],
    ];
    for (const [blob, count, what] of refusals) {
      expect(() => decodeSegment(blob, count)).toThrow(new SegmentDamagedError(what));
    }
    const unknownFlags = Buffer.from(body);
    unknownFlags[4] = 0x80;
    const segment = decodeSegment(withBody(unknownFlags, 1), 1);
    expect(() => segment.frames()).toThrow(new SegmentDamagedError('a frame has unknown flags'));
  });

  it.each([
    ['4 GiB', 0xffffffff, undefined],
    ['more than the limit', MAX_RAW_BYTES + 1, undefined],
    ['more than the caller wants', 2000, 1999],
    ['more than LZ4 can make of the block', 90_000_000, undefined],
  ])('allocates nothing for a blob that claims %s', (_what, claimed, maxRawBytes) => {
    const allocations = [
      jest.spyOn(Buffer, 'allocUnsafe'),
      jest.spyOn(Buffer, 'alloc'),
      jest.spyOn(Buffer, 'allocUnsafeSlow'),
    ];
    const blob = forged(large(), (head) => head.writeUInt32LE(claimed, 6));
    allocations.forEach((spy) => spy.mockClear());
    expect(() => decodeSegment(blob, 20, { maxRawBytes })).toThrow(SegmentDamagedError);
    for (const spy of allocations) {
      expect(spy).not.toHaveBeenCalled();
      spy.mockRestore();
    }
  });
});
