import { expect, it } from '@jest/globals';
import { decodeSegment } from '../segment/segment.js';
import { hashTransactionId } from '../segment/transaction-hash.js';
import { mintUuid, uuidText } from '../segment/uuid-v7.js';
import { replaySegment, replayTransactionId } from './replay-segment.js';

const letter = {
  queue: 'q',
  partition: 'p',
  headers: null,
  traceId: null,
  producerSub: null,
  encrypted: false,
};

it('is the message of the letter under the id of the replay', () => {
  const messageId = mintUuid(1);
  const traceId = uuidText(mintUuid(2));
  const transactionId = replayTransactionId('01890000-0000-7000-8000-000000000001');
  const { hash, blob } = replaySegment(transactionId, messageId, {
    ...letter,
    ...{
      payload: '{"b": 1.0, "☃":"\\u0000"}',
      headers: '{"h":  "1"}',
      traceId,
      producerSub: 'sub',
      encrypted: true,
    },
  });
  const [frame] = decodeSegment(blob, 1).frames();
  expect(transactionId).toBe('dlq:01890000-0000-7000-8000-000000000001');
  expect(frame.transactionId.toString()).toBe(transactionId);
  expect(hash).toEqual(hashTransactionId(transactionId));
  expect(frame.messageId).toEqual(messageId);
  expect(frame.payload.toString()).toBe('{"b": 1.0, "☃":"\\u0000"}');
  expect(frame.headers?.toString()).toBe('{"h":  "1"}');
  expect(uuidText(frame.traceId!)).toBe(traceId);
  expect(frame.producerSub?.toString()).toBe('sub');
  expect(frame.encrypted).toBe(true);
});

it('has no more than the letter has', () => {
  const { blob } = replaySegment('dlq:x', mintUuid(1), { ...letter, payload: 'null' });
  const [frame] = decodeSegment(blob, 1).frames();
  expect([frame.headers, frame.traceId, frame.producerSub, frame.encrypted]).toEqual([
    null,
    null,
    null,
    false,
  ]);
});
