/** A frame that may repeat the message at an offset of its partition. */
export type Suspect = readonly [frame: number, offset: number];

/**
 * What a push tells PostgreSQL about the hashes of its segment, so that it need not look for them: none of them is stored
 * at or below `verified`, the suspects and what is older than `sinceMicros` excepted.
 */
export interface DedupPromise {
  readonly verified: number;
  /** The partition it was made for; null: nobody knows which one has that name now. */
  readonly partitionId: string | null;
  /** It holds for that partition only; PostgreSQL looks whether it is the one, and puts the promise aside if not. */
  readonly isBound: boolean;
  /** Microseconds since 1970, on the database's clock. */
  readonly sinceMicros: number;
  /** Ascending by frame. */
  readonly suspects: readonly Suspect[];
}

export const SINCE_EVER = Number.MIN_SAFE_INTEGER;

/** Everything is looked for. Always right. */
export const NO_PROMISE: DedupPromise = {
  verified: -1,
  partitionId: null,
  isBound: false,
  sinceMicros: SINCE_EVER,
  suspects: [],
};

/** Ids that the broker minted exist nowhere before they are stored: no need to look for them at any offset. */
export function neverSeen(partitionId: string | null): DedupPromise {
  return { ...NO_PROMISE, verified: Number.MAX_SAFE_INTEGER, partitionId };
}
