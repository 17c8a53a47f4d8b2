import type { SqlConnection } from '../../raw-sql/connection-lease.js';
import type { ClaimedPartition } from '../claim.js';
import type { SharedClaim } from '../flush/claim-job.js';
import type { PopRequest } from '../pop.request.js';

/** `own`: that of a module of a team's own. */
export type PopPath = 'hotlist' | 'scan' | 'partition' | 'discovery' | 'paused' | 'own';

/** One way to find partitions worth asking about, and to ask. It knows nothing of permits, waiting or order. */
export interface CandidateSource {
  /** Its name in metrics. */
  readonly path: PopPath;

  /**
   * Could a claim deliver? `false` is definitive. Answered from memory by the ring; elsewhere by one cheap probe that
   * takes a connection but no permit.
   */
  mayHaveWork(request: PopRequest): boolean | Promise<boolean>;

  /** The claim itself, on a connection the caller lends. Empty: nothing to be had now. */
  claim(connection: SqlConnection, request: PopRequest, round: Round): Promise<ClaimedPartition[]>;

  /**
   * The claim in one statement with those of other pops, permit and connection included; null when this one must be made
   * alone. Not there: always alone.
   */
  claimShared?(claim: SharedClaim): Promise<ClaimedPartition[]> | null;

  /**
   * The last look from memory, in the turn that parks or takes a connection: `true` when memory knows there is nothing,
   * `undefined` when it cannot know.
   */
  stillQuiet(request: PopRequest): boolean | undefined;

  /** Messages believed to be ready, counted up to `limit`; Infinity when that cannot be told. */
  estimate(request: PopRequest, limit: number): number;
}

/** Which round of a pop this is. */
export interface Round {
  /** The round began with a wake, not with a timeout or the arrival of the request. */
  readonly woken: boolean;
}
