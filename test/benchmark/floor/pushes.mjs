import {
  byteaArray,
  int4Array,
  int8Array,
  textArray,
  uuidArray,
} from '../../../dist/raw-sql/binary-array.js';
import { hashTransactionIds } from '../../../dist/segment/transaction-hash.js';
import { encodeSegment } from './segment.mjs';

const FLIGHTS = 2;
const PARTS_MAX = 64;
const TENANT = '00000000-0000-0000-0000-000000000001';
const NIL = '00000000-0000-0000-0000-000000000000';
/** A promise that nothing stored is a duplicate, so that the procedure does not look. */
const VOUCHED = Number.MAX_SAFE_INTEGER;
const TEXT =
  'select * from queen.log_push_multi_v2($1::text[], $2::text[], $3::int[], $4::bytea[], $5::bigint[], $6::bytea[], $7::uuid[], $8::uuid[], $9::bigint[], null)';

/** Pushes of concurrent requests: one segment a partition, many partitions a commit, one flight a partition. */
export class Pushes {
  static flights = FLIGHTS;
  ready = new Map();
  flying = new Set();

  /** @param stored told of each segment after its commit: (queue, partition, messages) */
  constructor(stored) {
    this.stored = stored;
  }

  /** Resolves after the commit of all of them. */
  add(queue, messages) {
    return new Promise((resolve, reject) => {
      const request = { left: 0, resolve, reject };
      for (const message of messages) {
        const key = `${queue}\u001f${message.partition}`;
        let part = this.ready.get(key);
        if (!part) {
          this.ready.set(key, (part = { queue, partition: message.partition, messages: [], requests: [] }));
        }
        part.messages.push(message);
        if (part.requests.at(-1) !== request) {
          part.requests.push(request);
          request.left++;
        }
      }
    });
  }

  fly(rows) {
    const parts = [];
    for (const [key, part] of this.ready) {
      if (parts.length === PARTS_MAX) break;
      if (this.flying.has(key)) continue;
      this.ready.delete(key);
      this.flying.add(key);
      parts.push(part);
    }
    return parts.length === 0 ? null : this.send(rows, parts);
  }

  async send(rows, parts) {
    const texts = (pick) => textArray(parts.map(pick));
    try {
      const [[verdicts]] = await rows('push', TEXT, [
        texts(({ queue }) => queue),
        texts(({ partition }) => partition),
        int4Array(parts.map(({ messages }) => messages.length)),
        byteaArray(
          parts.map(({ messages }) => hashTransactionIds(messages.map(({ transactionId }) => transactionId))),
        ),
        int8Array(parts.map(() => VOUCHED)),
        byteaArray(parts.map(({ messages }) => encodeSegment(messages))),
        uuidArray(parts.map(() => TENANT)),
        uuidArray(parts.map(() => NIL)),
        int8Array(parts.map(() => 0)),
      ]);
      if (verdicts.some(({ status }) => status !== 'queued')) throw new Error('a push was not queued');
      for (const part of parts) this.stored(part.queue, part.partition, part.messages.length);
      this.settle(parts, (request) => --request.left === 0 && request.resolve());
    } catch (error) {
      this.settle(parts, (request) => request.reject(error));
    }
  }

  settle(parts, each) {
    for (const part of parts) {
      this.flying.delete(`${part.queue}\u001f${part.partition}`);
      part.requests.forEach(each);
    }
  }
}
