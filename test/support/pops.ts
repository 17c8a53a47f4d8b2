import { decodeSegment } from '../../src/segment/segment.js';
import {
  popDiscoverCall,
  popListCall,
  popSpecificCall,
  popV1Call,
  popWildcardCall,
  run,
  type PopOptions,
  type Row,
  type Target,
} from './calls.js';
import { numberOf } from './rows.js';

export interface Slice {
  base: number;
  startIdx: number;
  take: number;
  msgCount: number;
  createdAt: Date;
  /** The messages of the slice, cut out of the blob. */
  texts: string[];
}

export interface Batch {
  queue: string;
  partition: string;
  partitionId: string;
  attempt: number;
  slices: Slice[];
  texts: string[];
  /** Offset of the last message. */
  end: number;
}

export interface Verdict {
  partition: string;
  partitionId: string | null;
  state: string;
  lastOffset: number | null;
  waitMs: number | null;
}

export interface Popped {
  /** One per partition, in claim order. */
  batches: Batch[];
  /** Of a list pop: one per name that was looked at. */
  verdicts: Verdict[];
  texts: string[];
}

/** Decodes the rows of any pop procedure but log_pop_v1; checks that a partition's rows stand together. */
export function popped(rows: readonly Row[]): Popped {
  const result: Popped = { batches: [], verdicts: [], texts: [] };
  for (const row of rows) {
    if (row.r_state !== null) {
      result.verdicts.push(verdictOf(row));
      continue;
    }
    const slice = sliceOf(row);
    let batch = result.batches.find(({ partitionId }) => partitionId === row.r_partition_id);
    if (batch === undefined) {
      batch = {
        queue: row.r_queue as string,
        partition: row.r_partition as string,
        partitionId: row.r_partition_id as string,
        attempt: row.r_attempt as number,
        slices: [],
        texts: [],
        end: -1,
      };
      result.batches.push(batch);
    } else if (batch !== result.batches.at(-1)) {
      throw new Error(`the rows of partition ${batch.partition} do not stand together`);
    }
    batch.slices.push(slice);
    batch.texts.push(...slice.texts);
    batch.end = slice.base + slice.startIdx + slice.take - 1;
    result.texts.push(...slice.texts);
  }
  return result;
}

export function sliceOf(row: Row): Slice {
  const { r_start_idx: startIdx, r_take: take, r_msg_count: msgCount } = row as Record<string, number>;
  const segment = decodeSegment(row.r_blob as Buffer, msgCount);
  return {
    base: Number(row.r_base),
    startIdx,
    take,
    msgCount,
    createdAt: row.r_created_at as Date,
    texts: segment.frames(startIdx, take).map((frame) => frame.transactionId.toString()),
  };
}

function verdictOf(row: Row): Verdict {
  return {
    partition: row.r_partition as string,
    partitionId: row.r_partition_id as string | null,
    state: row.r_state as string,
    lastOffset: numberOf(row.r_last_off),
    waitMs: row.r_wait_ms as number | null,
  };
}

/** log_pop_v1 itself. */
export async function claim(
  on: Target,
  queue: string,
  partition: string,
  options: PopOptions = {},
): Promise<Slice[]> {
  return (await run(on, popV1Call(queue, partition, options))).map(sliceOf);
}

/** The texts that log_pop_v1 hands out. */
export async function claimTexts(
  on: Target,
  queue: string,
  partition: string,
  options: PopOptions = {},
): Promise<string[]> {
  return (await claim(on, queue, partition, options)).flatMap(({ texts }) => texts);
}

export async function popSpecific(
  on: Target,
  queue: string,
  partition: string,
  options: PopOptions = {},
): Promise<Popped> {
  return popped(await run(on, popSpecificCall(queue, partition, options)));
}

export async function popWildcard(on: Target, queue: string, options: PopOptions = {}): Promise<Popped> {
  return popped(await run(on, popWildcardCall(queue, options)));
}

export async function popList(
  on: Target,
  queue: string,
  names: readonly string[],
  options: PopOptions = {},
): Promise<Popped> {
  return popped(await run(on, popListCall(queue, names, options)));
}

export async function popDiscover(
  on: Target,
  filter: { namespace?: string | null; task?: string | null },
  options: PopOptions = {},
): Promise<Popped> {
  return popped(await run(on, popDiscoverCall(filter, options)));
}
