import type { CursorRow, RangeRow, Snapshot } from './snapshot.js';

/*
 * Invariants of the log that hold whatever was done to it, so they need no model. Each function gives the breaches as
 * sentences, an empty list when all is well.
 */

const HASH_HEX = 32;
/** What the write watermark of a scan forgives: see log_pop_candidates_v1. */
const SLACK_MICROS = 120_000_000;

/** I1 to I5, I8, I9, I11 to I13 and I42, on one moment. */
export function breaches(state: Snapshot): string[] {
  return [...logBreaches(state), ...hashBreaches(state), ...cursorBreaches(state), ...hiddenBacklogs(state)];
}

/** I6, I14 and I15, between two moments of which nobody moved a cursor back on purpose. */
export function regressions(before: Snapshot, after: Snapshot): string[] {
  const found: string[] = [];
  const earlier = new Map(before.partitions.map((row) => [row.id, row]));
  for (const row of after.partitions) {
    const old = earlier.get(row.id);
    if (!old) continue;
    for (const mark of ['lastOffset', 'logStart', 'txnsStart'] as const) {
      if (row[mark] < old[mark])
        found.push(`I6: ${mark} of ${row.name} went from ${old[mark]} to ${row[mark]}`);
    }
  }
  const earlierCursors = new Map(before.cursors.map((row) => [cursorKey(row), row]));
  for (const row of after.cursors) {
    const old = earlierCursors.get(cursorKey(row));
    if (!old) continue;
    if (row.committed < old.committed) {
      found.push(`I14: the cursor of ${cursorKey(row)} went from ${old.committed} to ${row.committed}`);
    }
    if (row.totalConsumed < old.totalConsumed) found.push(`I15: total_consumed of ${cursorKey(row)} fell`);
  }
  return found;
}

/** I28, for queues whose window covered the whole life of the log: a message is stored once per partition. */
export function doubles(state: Snapshot): string[] {
  const found: string[] = [];
  const seen = new Set<string>();
  for (const { partitionId, base, hashes } of state.hashRows) {
    for (let at = 0; at < hashes.length; at += HASH_HEX) {
      const key = `${partitionId} ${hashes.slice(at, at + HASH_HEX)}`;
      if (seen.has(key)) found.push(`I28: offset ${base + at / HASH_HEX} of ${partitionId} is stored twice`);
      seen.add(key);
    }
  }
  return found;
}

function logBreaches(state: Snapshot): string[] {
  const found: string[] = [];
  const segments = byPartition(state.segments);
  for (const { id, name, lastOffset, logStart, txnsStart } of state.partitions) {
    const own = segments.get(id) ?? [];
    const say = (what: string) => found.push(`${what} (partition ${name}, ${id})`);
    own.forEach(({ base, end, createdAt }, k) => {
      if (base > end) say(`I1: segment ${base} ends at ${end}`);
      const next = own[k + 1];
      if (!next) return;
      if (next.base !== end + 1) say(`I2: segment ${next.base} follows one that ends at ${end}`);
      if (next.createdAt < createdAt) say(`I5: segment ${next.base} is older than the one before it`);
    });
    const [first, last] = [own.at(0), own.at(-1)];
    if (last && last.end !== lastOffset)
      say(`I3: the log ends at ${last.end}, last_offset says ${lastOffset}`);
    if (!last && logStart !== lastOffset + 1)
      say(`I3: no segment, but ${logStart} to ${lastOffset} should live`);
    if (first && first.base !== logStart)
      say(`I4: the log starts at ${first.base}, log_start says ${logStart}`);
    const stored = own.reduce((sum, { base, end }) => sum + end - base + 1, 0);
    if (stored !== lastOffset - logStart + 1) say(`I4: ${stored} messages are stored`);
    if (txnsStart > logStart)
      say(`Q1: hash rows are purged up to ${txnsStart}, messages only up to ${logStart}`);
  }
  return found;
}

function hashBreaches(state: Snapshot): string[] {
  const found: string[] = [];
  const partitions = new Map(state.partitions.map((row) => [row.id, row]));
  const hashRows = new Map(state.hashRows.map((row) => [`${row.partitionId} ${row.base}`, row]));
  for (const segment of state.segments) {
    const row = hashRows.get(`${segment.partitionId} ${segment.base}`);
    const name = `segment ${segment.base} of ${segment.partitionId}`;
    if (!row) {
      if (segment.base >= (partitions.get(segment.partitionId)?.txnsStart ?? 0))
        found.push(`I8: ${name} has no hash row`);
    } else if (row.end !== segment.end || row.createdAt !== segment.createdAt) {
      found.push(`I8: ${name} and its hash row differ`);
    }
  }
  for (const { partitionId, base, end, hashes } of state.hashRows) {
    const partition = partitions.get(partitionId);
    if (!partition) found.push(`I9: a hash row of ${partitionId}, which is gone`);
    else if (base < partition.txnsStart)
      found.push(`I9: hash row ${base} of ${partitionId} lies below the mark`);
    if (hashes.length !== HASH_HEX * (end - base + 1)) found.push(`I8: hash row ${base} has a wrong stride`);
  }
  return found;
}

function cursorBreaches(state: Snapshot): string[] {
  const found: string[] = [];
  const lastOffsets = new Map(state.partitions.map(({ id, lastOffset }) => [id, lastOffset]));
  const seen = new Set<string>();
  for (const row of state.cursors) {
    const key = cursorKey(row);
    if (seen.has(key)) found.push(`I11: ${key} has two rows`);
    seen.add(key);
    const lastOffset = lastOffsets.get(row.partitionId) ?? -1;
    const parts = [row.worker, row.expiresAt, row.batchEnd];
    if (parts.some((part) => part === null) && parts.some((part) => part !== null)) {
      found.push(`I12: ${key} has half a lease: ${JSON.stringify(row)}`);
    }
    if (row.committed < -1 || row.committed > lastOffset) {
      found.push(`I13: ${key} stands at ${row.committed}, the log ends at ${lastOffset}`);
    }
    // An expired lease keeps its fields, and a seal may pass it.
    if (row.expiresAt !== null && row.expiresAt >= state.now && row.batchEnd !== null) {
      if (row.batchEnd <= row.committed || row.batchEnd > lastOffset) {
        found.push(
          `I13: ${key} leases up to ${row.batchEnd}, stands at ${row.committed}, log ends at ${lastOffset}`,
        );
      }
    }
  }
  return found;
}

/** I42: what is unread must be younger than the floor from which scans look for it. */
function hiddenBacklogs(state: Snapshot): string[] {
  const cursors = new Map(state.cursors.map((row) => [cursorKey(row), row]));
  return state.watermarks.flatMap(({ queueId, group, floor }) =>
    state.partitions
      .filter((partition) => partition.queueId === queueId && partition.lastWriteAt < floor - SLACK_MICROS)
      .filter(({ id, lastOffset, logStart }) => {
        const committed = cursors.get(cursorKey({ partitionId: id, group }))?.committed ?? -1;
        return lastOffset > Math.max(committed, logStart - 1);
      })
      .map(({ name }) => `I42: a backlog of ${name} is hidden from ${group}`),
  );
}

export function cursorKey({ partitionId, group }: Pick<CursorRow, 'partitionId' | 'group'>): string {
  return `${partitionId} / ${group}`;
}

function byPartition<Row extends RangeRow>(rows: readonly Row[]): Map<string, Row[]> {
  const found = new Map<string, Row[]>();
  for (const row of rows) {
    const own = found.get(row.partitionId);
    if (own) own.push(row);
    else found.set(row.partitionId, [row]);
  }
  return found;
}
