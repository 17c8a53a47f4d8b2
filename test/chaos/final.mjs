import { decodeSegment } from '../../dist/segment/segment.js';
import { hashTransactionId } from '../../dist/segment/transaction-hash.js';
import { uuidText } from '../../dist/segment/uuid-v7.js';
import { loadTypeScript } from './load-typescript.mjs';

const { takeSnapshot } = await loadTypeScript(new URL('../properties/snapshot.ts', import.meta.url));

/** Messages of a segment are read in pieces: the whole log at once would not fit into a text. */
const SEGMENTS_AT_ONCE = 500;

/**
 * What the tables hold in the end, as one plain object: the snapshot of the properties, and of each message that is known
 * by its hash row its offset, transactionId (null for a hash that none of `known` has), time, and its id where the
 * segment still is. `faults`: segments that do not open, or say something else than their hash row (I10).
 */
export async function finalOf(postgres, known) {
  const names = new Map(known.map((id) => [hashTransactionId(id).toString('hex'), id]));
  return postgres.session(async (client) => {
    const snapshot = await takeSnapshot(client);
    const frames = new Map();
    const faults = [];
    for (let from = 0; from < snapshot.segments.length; from += SEGMENTS_AT_ONCE) {
      const some = snapshot.segments.slice(from, from + SEGMENTS_AT_ONCE);
      const { rows } = await client.query(
        `select s.partition_id as "partitionId", s.base_offset::int8 as base, s.blob
         from unnest($1::uuid[], $2::int8[]) u(p, b)
         join queen.log_segments s on s.partition_id = u.p and s.base_offset = u.b`,
        [some.map(({ partitionId }) => partitionId), some.map(({ base }) => base)],
      );
      for (const { partitionId, base, blob } of rows) frames.set(`${partitionId} ${base}`, blob);
    }
    const entries = snapshot.hashRows.flatMap((row) => entriesOf(row, frames, names, faults));
    return { ...snapshot, entries, faults };
  });
}

function entriesOf({ partitionId, base, end, createdAt, hashes }, blobs, names, faults) {
  const count = end - base + 1;
  const blob = blobs.get(`${partitionId} ${base}`);
  const messages = blob ? open(blob, count, `segment ${base} of ${partitionId}`, faults) : null;
  return Array.from({ length: count }, (_, k) => {
    const hash = hashes.slice(k * 32, (k + 1) * 32);
    const frame = messages?.[k];
    if (frame && hashTransactionId(frame.transactionId).toString('hex') !== hash)
      faults.push(`I10: hash ${k} of segment ${base} of ${partitionId} is not that of its message`);
    return {
      partitionId,
      offset: base + k,
      transactionId: names.get(hash) ?? null,
      createdAt,
      id: frame ? uuidText(frame.messageId) : null,
    };
  });
}

function open(blob, count, where, faults) {
  try {
    return decodeSegment(blob, count).frames();
  } catch (error) {
    faults.push(`I10: ${where} does not open: ${error.message}`);
    return null;
  }
}
