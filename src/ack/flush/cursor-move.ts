/** A full batch as one step of one cursor. */
export interface CursorMove {
  readonly partitionId: string;
  readonly group: string;
  /** The lease's owner; never ''. */
  readonly worker: string;
  readonly batchEnd: number;
  /** Messages completed, for the group's total. */
  readonly count: number;
}

/** `rejected`: the lease is over or was another's, and nothing moved. A flush that failed has no verdict, it throws. */
export type MoveVerdict = 'committed' | 'rejected';
