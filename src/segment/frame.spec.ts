import { describe, expect, it } from '@jest/globals';
import { Frame, frameEnd, frameSize, MIN_FRAME_BYTES, writeFrame, type FrameInput } from './frame.js';
import { SegmentDamagedError } from './segment-damaged.error.js';

const messageId = Buffer.from('0190c1d2aaaa7bbb8ccc000000000001', 'hex');
const traceId = Buffer.from('0190c1d2aaaa7bbb8ccc000000000002', 'hex');

function frame(overrides: Partial<FrameInput> = {}): FrameInput {
  return {
    messageId,
    transactionId: Buffer.from('t'),
    payload: Buffer.from('{"n":1.0}'),
    encrypted: false,
    ...overrides,
  };
}

function written(input: FrameInput): Buffer {
  const bytes = Buffer.alloc(frameSize(input));
  expect(writeFrame(bytes, 0, input)).toBe(bytes.length);
  return bytes;
}

const read = (bytes: Buffer) => new Frame(bytes, 0, frameEnd(bytes, 0));

describe('a frame', () => {
  it('has the layout that is written down', () => {
    expect(written(frame()).toString('hex')).toBe(
      [
        '1d000000',
        '00',
        messageId.toString('hex'),
        '0100',
        '74',
        Buffer.from('{"n":1.0}').toString('hex'),
      ].join(''),
    );
    const full = frame({
      traceId,
      producerSub: Buffer.from('me'),
      headers: Buffer.from('{}'),
      encrypted: true,
    });
    expect(written(full).toString('hex')).toBe(
      [
        ...['35000000', '0f', messageId.toString('hex'), traceId.toString('hex'), '0100', '74'],
        ...['0200', '6d65', '0200', '7b7d', Buffer.from('{"n":1.0}').toString('hex')],
      ].join(''),
    );
  });

  it('takes 23 bytes when it carries nothing', () => {
    const empty = frame({ transactionId: Buffer.alloc(0), payload: Buffer.alloc(0) });
    expect(frameSize(empty)).toBe(MIN_FRAME_BYTES);
    expect(read(written(empty))).toMatchObject({ payload: Buffer.alloc(0), transactionId: Buffer.alloc(0) });
  });

  it('tells an absent field from an empty one', () => {
    expect(read(written(frame()))).toMatchObject({ traceId: null, producerSub: null, headers: null });
    expect(read(written(frame({ producerSub: Buffer.alloc(0), headers: Buffer.alloc(0) })))).toMatchObject({
      producerSub: Buffer.alloc(0),
      headers: Buffer.alloc(0),
    });
  });

  it('gives views of its buffer and the positions of what is read most', () => {
    const bytes = written(frame());
    const view = read(bytes);
    expect(view.payload.buffer).toBe(bytes.buffer);
    expect(bytes.subarray(view.payloadStart, view.payloadEnd)).toEqual(view.payload);
    expect(bytes.subarray(view.transactionIdStart, view.transactionIdEnd)).toEqual(view.transactionId);
    expect(bytes.subarray(view.messageIdStart, view.messageIdStart + 16)).toEqual(messageId);
  });

  it('can be written again as it was read', () => {
    const bytes = written(frame({ traceId, headers: Buffer.from('{"a":"b"}'), encrypted: true }));
    expect(written(read(bytes))).toEqual(bytes);
  });

  it('holds a transactionId of 65,535 bytes and refuses one more', () => {
    const longest = frame({ transactionId: Buffer.alloc(65_535, 'x') });
    expect(read(written(longest)).transactionId.length).toBe(65_535);
    for (const name of ['transactionId', 'producerSub', 'headers'] as const) {
      const tooLong = frame({ [name]: Buffer.alloc(65_536) });
      expect(() => writeFrame(Buffer.alloc(frameSize(tooLong)), 0, tooLong)).toThrow(RangeError);
    }
  });

  it('refuses ids that are not 16 bytes', () => {
    for (const bad of [frame({ messageId: Buffer.alloc(15) }), frame({ traceId: Buffer.alloc(17) })]) {
      expect(() => writeFrame(Buffer.alloc(200), 0, bad)).toThrow(RangeError);
    }
  });
});

describe('a damaged frame', () => {
  const changed = (at: number, bytes: number[], input = frame()) => {
    const frameBytes = written(input);
    frameBytes.set(bytes, at);
    return frameBytes;
  };

  it.each([
    ['cut before its fixed part ends', written(frame()).subarray(0, MIN_FRAME_BYTES - 1)],
    ['cut in its payload', written(frame()).subarray(0, -1)],
    ['with a body shorter than its fixed part', changed(0, [18, 0, 0, 0])],
    ['with a length of 2^31', changed(0, [0, 0, 0, 0x80])],
    ['with the largest length', changed(0, [0xff, 0xff, 0xff, 0xff])],
    ['with unknown flags', changed(4, [0x10])],
    ['with a trace id that is not there', changed(4, [1], frame({ payload: Buffer.alloc(0) }))],
    ['with a transactionId longer than itself', changed(21, [0xff, 0xff])],
    ['with a subject that is not there', changed(4, [2], frame({ payload: Buffer.alloc(1) }))],
    ['with headers longer than itself', changed(4, [8], frame({ payload: Buffer.from('{}') }))],
  ])('%s is refused', (_what, bytes) => {
    expect(() => read(bytes)).toThrow(SegmentDamagedError);
  });
});
