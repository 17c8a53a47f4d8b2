import { JsonCursor } from '../base/json/scanner.js';
import type { SpoolMessage } from '../base/spool/push-spool.js';
import { parseUuid, uuidText } from '../segment/uuid-v7.js';

const LENGTH_BYTES = 4;
const CLOSING = Buffer.from('}');
const NULL = Buffer.from('null');

/**
 * A message as it stands in a file: u32 little-endian length, then one JSON object
 * `{tenant, queue, partition, transactionId, messageId, traceId?, producerSub?, headers?, encrypted, payload}`.
 * Payload and headers are spliced in as they came, so they come back byte for byte.
 */
export function encodeRecord(message: SpoolMessage): Buffer[] {
  const { target, traceId, producerSub, headers, encrypted } = message;
  const payload = message.payload.length === 0 ? NULL : message.payload;
  const fields = [
    `{"tenant":${JSON.stringify(target.tenant)}`,
    `"queue":${JSON.stringify(target.queue)}`,
    `"partition":${JSON.stringify(target.partition)}`,
    `"transactionId":${JSON.stringify(message.transactionId.toString('utf8'))}`,
    `"messageId":"${uuidText(message.messageId)}"`,
  ];
  if (traceId) fields.push(`"traceId":"${uuidText(traceId)}"`);
  if (producerSub) fields.push(`"producerSub":${JSON.stringify(producerSub.toString('utf8'))}`);
  if (headers) fields.push(`"headers":${headers.toString('utf8')}`);
  fields.push(`"encrypted":${encrypted}`, '"payload":');
  const head = Buffer.from(fields.join(','));
  const length = Buffer.allocUnsafe(LENGTH_BYTES);
  length.writeUInt32LE(head.length + payload.length + CLOSING.length);
  return [length, head, payload, CLOSING];
}

/** The message of a record's JSON; payload and headers are views of `record`. Throws when it is not one. */
export function decodeRecord(record: Buffer): SpoolMessage {
  const cursor = new JsonCursor(record);
  const texts = new Map<string, string>();
  let payload: Buffer | null = null;
  let headers: Buffer | null = null;
  let encrypted = false;
  for (let more = cursor.enterObject(); more; more = cursor.nextMember()) {
    const name = cursor.text();
    if (name === 'payload') payload = cursor.slice();
    else if (name === 'headers') headers = cursor.slice();
    else if (name === 'encrypted') encrypted = cursor.slice().equals(TRUE);
    else if (cursor.type() === 'string') {
      cursor.readString();
      texts.set(name, cursor.text());
    } else cursor.skipValue();
  }
  cursor.expectEnd();

  const text = (name: string) => {
    const found = texts.get(name);
    if (found === undefined) throw new Error(`the record has no ${name}`);
    return found;
  };
  const messageId = parseUuid(text('messageId'));
  if (!messageId) throw new Error('the record has a messageId that is no uuid');
  if (!payload) throw new Error('the record has no payload');
  const producerSub = texts.get('producerSub');
  return {
    target: { tenant: text('tenant'), queue: text('queue'), partition: text('partition') },
    transactionId: Buffer.from(text('transactionId')),
    messageId,
    traceId: parseUuid(texts.get('traceId') ?? ''),
    producerSub: producerSub === undefined ? null : Buffer.from(producerSub),
    headers,
    encrypted,
    payload,
  };
}

const TRUE = Buffer.from('true');
