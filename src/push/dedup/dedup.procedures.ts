import { int8Array, textArray, uuidArray } from '../../raw-sql/binary-array.js';
import { procedure } from '../../raw-sql/procedure.js';
import type { PartitionTarget } from '../partition-target.js';

export interface HashesAfterArgs {
  readonly partitions: readonly {
    readonly target: PartitionTarget;
    /** What lies above this offset; -1: what lies inside the dedup window. */
    readonly after: number;
  }[];
  /** Stop after the piece that brings the hashes to this size. */
  readonly bytesMax: number;
}

export interface HashPiece {
  /** Which of the partitions asked for. */
  readonly index: number;
  readonly partitionId: string;
  readonly windowSeconds: number;
  /** In the first piece of a window, which holds no hash: what is stored below its base is older than this. */
  readonly sinceMicros: number | null;
  readonly base: number;
  readonly end: number;
  readonly createdAtMicros: number;
  readonly hashes: Buffer;
}

/** The hashes of partitions in offset order, pieces without gaps between them, in the order asked for. */
export const logHashesAfterV1 = procedure<HashesAfterArgs, HashPiece>({
  name: 'log_hashes_after_v1',
  parameterTypes: ['text[]', 'text[]', 'uuid[]', 'bigint[]', 'bigint'],
  values: ({ partitions, bytesMax }) => [
    textArray(partitions.map(({ target }) => target.queue)),
    textArray(partitions.map(({ target }) => target.partition)),
    uuidArray(partitions.map(({ target }) => target.tenant)),
    int8Array(partitions.map(({ after }) => after)),
    bytesMax,
  ],
  row: ([index, partitionId, windowSeconds, since, base, end, createdAt, hashes]) => ({
    index: index as number,
    partitionId: partitionId as string,
    windowSeconds: windowSeconds as number,
    sinceMicros: since as number | null,
    base: base as number,
    end: end as number,
    createdAtMicros: createdAt as number,
    hashes: hashes as Buffer,
  }),
});
