import { randomBytes } from 'node:crypto';
import { isoMicros } from '../../../dist/base/time/iso-micros.js';
import { decodeSegment } from './segment.mjs';

/*
 * The broker's wire for what the generator sends, and for nothing else: texts are looked for where the generator writes
 * them, and nothing is validated.
 */
const QUEUE = '{"queue":"';
const PARTITION = '"partition":"';
const TRANSACTION = '"transactionId":"';
const PAYLOAD = '"payload":';

/** @returns {{ queue: string, messages: { partition: string, transactionId: string, payload: string }[] }} */
export function readPush(text) {
  const messages = [];
  const queueAt = text.indexOf(QUEUE) + QUEUE.length;
  const queue = text.slice(queueAt, text.indexOf('"', queueAt));
  const next = `},${QUEUE}`;
  for (let at = queueAt; at > 0;) {
    const partitionAt = text.indexOf(PARTITION, at) + PARTITION.length;
    const partitionEnd = text.indexOf('"', partitionAt);
    const transactionAt = text.indexOf(TRANSACTION, partitionEnd) + TRANSACTION.length;
    const transactionEnd = text.indexOf('"', transactionAt);
    const payloadAt = text.indexOf(PAYLOAD, transactionEnd) + PAYLOAD.length;
    const nextAt = text.indexOf(next, payloadAt);
    messages.push({
      partition: text.slice(partitionAt, partitionEnd),
      transactionId: text.slice(transactionAt, transactionEnd),
      payload: text.slice(payloadAt, nextAt < 0 ? text.length - 3 : nextAt),
    });
    at = nextAt < 0 ? 0 : nextAt + next.length;
  }
  return { queue, messages };
}

export function writePush(queue, messages) {
  let text = '';
  for (let i = 0; i < messages.length; i++) {
    text += `${i === 0 ? '[' : ','}{"index":${i},"message_id":"${newId()}","transaction_id":"${messages[i].transactionId}","queueName":"${queue}","status":"queued"}`;
  }
  return `${text}]`;
}

/** @param {URL} url of a pop */
export function readPop(url) {
  const query = url.searchParams;
  return {
    queue: url.pathname.slice(url.pathname.lastIndexOf('/') + 1),
    group: query.get('consumerGroup'),
    batch: Number(query.get('batch')),
    partitions: Number(query.get('partitions')),
    autoAck: query.get('autoAck') === 'true',
    timeoutMs: Number(query.get('timeout')),
  };
}

export function writePop({ queue, group }, { leaseId, parts }) {
  let text = '';
  const names = new Set();
  for (const { name, partitionId, createdAtMicros, blob, start, take } of parts) {
    names.add(name);
    const tail = `,"producerSub":null,"createdAt":"${isoMicros(createdAtMicros)}","partitionId":"${partitionId}","partition":"${name}","queue":"${queue}","leaseId":"${leaseId}","consumerGroup":"${group}","deliveryAttempt":1}`;
    for (const { transactionId, payload } of decodeSegment(blob, start, take)) {
      text += `${text === '' ? '' : ','}{"id":"${newId()}","transactionId":"${transactionId}","traceId":null,"data":${payload}${tail}`;
    }
  }
  return `{"success":true,"queue":"${queue}","partition":"${parts[0].name}","partitionId":"${parts[0].partitionId}","leaseId":"${leaseId}","consumerGroup":"${group}","messages":[${text}],"partitionsClaimed":${names.size}}`;
}

/** @returns the group, and one `{ transactionId, partitionId, leaseId }` per item */
export function readAck(text) {
  const groupAt = text.indexOf('"consumerGroup":"') + 17;
  const items = [];
  for (let at = text.indexOf(TRANSACTION, groupAt); at > 0; at = text.indexOf(TRANSACTION, at)) {
    const transactionAt = at + TRANSACTION.length;
    const transactionEnd = text.indexOf('"', transactionAt);
    const partitionAt = text.indexOf('"partitionId":"', transactionEnd) + 15;
    const leaseAt = text.indexOf('"leaseId":"', partitionAt) + 11;
    at = text.indexOf('"', leaseAt);
    items.push({
      transactionId: text.slice(transactionAt, transactionEnd),
      partitionId: text.slice(partitionAt, partitionAt + 36),
      leaseId: text.slice(leaseAt, at),
    });
  }
  return { group: text.slice(groupAt, text.indexOf('"', groupAt)), items };
}

/** @param isAcked by lease and partition */
export function writeAck(items, isAcked) {
  let text = '';
  for (let i = 0; i < items.length; i++) {
    const { transactionId, leaseId, partitionId } = items[i];
    const ok = isAcked.get(`${leaseId}${partitionId}`);
    text += `${i === 0 ? '[' : ','}{"index":${i},"transactionId":"${transactionId}","success":${ok},"error":null,"leaseReleased":${ok},"dlq":false,"noop":false}`;
  }
  return `${text}]`;
}

const prefix = `${randomBytes(8)
  .toString('hex')
  .replace(/(.{8})(.{4})(.{4})/, '$1-$2-$3')}-`;
let serial = 0;

/** As long as a message id, and different each time. */
function newId() {
  const hex = (serial++).toString(16).padStart(16, '0');
  return `${prefix}${hex.slice(0, 4)}-${hex.slice(4)}`;
}
