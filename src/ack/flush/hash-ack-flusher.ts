import { Inject, Injectable } from '@nestjs/common';
import { BrokerError } from '../../base/errors/broker-error.js';
import { SampledLogger } from '../../base/log/sampled-logger.js';
import { RecentValues } from '../../base/recent-values.js';
import { isRefusal } from '../../raw-sql/sql-failure.js';
import { HASH_BYTES } from '../../segment/transaction-hash.js';
import { AckLane, type AckConnection } from '../ack-lane.js';
import { ACK_OPTIONS, type AckOptions } from '../ack.options.js';
import {
  checkOutcome,
  logAckByHashMultiV1,
  logAckByHashV1,
  type AckOutcome,
  type HashCompletion,
} from '../ack.procedures.js';

const ROWS_PER_FLUSH = 200;
/** Each is looked up, and cursors stay locked until the end: a flush of more would be a long one for all who wait. */
const HASHES_PER_FLUSH = 2000;
/** Kept for coming flushes; some ten megabytes. */
const HASHES_WAITING_MAX = 500_000;
/** Two, so that a flush that waits for a locked cursor is not waited for by everybody. */
const FLIGHTS_MAX = 2;
/** Groups of one request that may wait here at once, so that the acks of others come in between. */
const GROUPS_OF_A_REQUEST_MAX = 200;
/** Without shared statements each takes one of the lane's, which belongs to everybody. */
const GROUPS_OF_A_REQUEST_MAX_ALONE = 8;

export interface HashAckFlushStats {
  flushes: number;
  /** Acks in these flushes. */
  rows: number;
  waiting: number;
}

interface Waiting {
  readonly ack: HashCompletion;
  /** It was in a flush that ran into its timeout, and may be the one that is slow. */
  alone: boolean;
  resolve(outcome: AckOutcome): void;
  reject(error: unknown): void;
}

/**
 * Completions that have to be looked up by transactionId share statements: those of batches that another broker handed out
 * (behind a load balancer that is most of them), of parts of a batch, and all after a restart. As in AckFlusher the flush in
 * flight is the clock, and waiters hold neither a permit nor a connection.
 */
@Injectable()
export class HashAckFlusher {
  private readonly logger = new SampledLogger('Ack');
  private readonly waiting: Waiting[] = [];
  private hashesWaiting = 0;
  private flights = 0;
  private readonly counters = { flushes: 0, rows: 0 };
  private readonly rtts = new RecentValues();

  constructor(
    private readonly lane: AckLane,
    @Inject(ACK_OPTIONS) private readonly options: AckOptions,
  ) {}

  get groupsOfARequestMax(): number {
    return this.options.fusion ? GROUPS_OF_A_REQUEST_MAX : GROUPS_OF_A_REQUEST_MAX_ALONE;
  }

  /**
   * What PostgreSQL says of the ack, after the commit.
   * @throws BrokerError `overloaded` when too much waits already; as the statement fails otherwise
   */
  settle(ack: HashCompletion): Promise<AckOutcome> {
    if (!this.options.fusion) return this.lane.run((connection) => this.alone(connection, ack));
    const hashes = hashesOf(ack);
    if (this.hashesWaiting > 0 && this.hashesWaiting + hashes > HASHES_WAITING_MAX) {
      return Promise.reject(new BrokerError('overloaded'));
    }
    this.hashesWaiting += hashes;
    return new Promise((resolve, reject) => {
      this.waiting.push({ ack, alone: false, resolve, reject });
      if (this.flights < FLIGHTS_MAX) void this.fly();
    });
  }

  stats(): HashAckFlushStats {
    return { ...this.counters, waiting: this.waiting.length };
  }

  /** Round trip of the last flushes in milliseconds; `q` from 0 to 1. */
  rttQuantileMs(q: number): number {
    return this.rtts.quantile(q);
  }

  private async fly(): Promise<void> {
    this.flights += 1;
    while (this.waiting.length > 0) await this.flush();
    this.flights -= 1;
  }

  /** Taken only when the connection is there: what came while waiting for it goes along. Never rejects. */
  private async flush(): Promise<void> {
    const last = this.waiting.at(-1)!;
    let taken: Waiting[] | undefined;
    try {
      await this.lane.run((connection) => this.send(connection, (taken = this.take())));
    } catch (error) {
      if (taken && taken.length > 1 && isTimeout(error)) return this.putBack(taken);
      // Without a permit: what came later has waited less, and the other flight may take it.
      for (const { reject } of taken ?? this.leave(this.waiting.indexOf(last) + 1)) reject(error);
    }
  }

  private take(): Waiting[] {
    let hashes = 0;
    let rows = 0;
    for (const { ack, alone } of this.waiting) {
      hashes += hashesOf(ack);
      if (rows > 0 && (alone || rows >= ROWS_PER_FLUSH || hashes > HASHES_PER_FLUSH)) break;
      rows += 1;
      if (alone) break;
    }
    return this.leave(rows);
  }

  private leave(rows: number): Waiting[] {
    const left = this.waiting.splice(0, rows);
    for (const { ack } of left) this.hashesWaiting -= hashesOf(ack);
    return left;
  }

  /** One that was carried out all the same finds its lease over and is refused, as it would be if its client repeated it. */
  private putBack(taken: readonly Waiting[]): void {
    for (const one of taken) {
      one.alone = true;
      this.hashesWaiting += hashesOf(one.ack);
    }
    this.waiting.unshift(...taken);
  }

  private async send(connection: AckConnection, taken: readonly Waiting[]): Promise<void> {
    if (taken.length === 0) return; // the other flight was first
    if (taken.length === 1) return this.sendEachAlone(connection, taken);
    let outcomes: AckOutcome[];
    try {
      outcomes = await this.counted(taken.length, () =>
        connection.callOne(
          logAckByHashMultiV1,
          taken.map(({ ack }) => ack),
        ),
      );
    } catch (error) {
      if (!isRefusal(error)) throw error;
      this.logger.warn(
        'refused',
        `${taken.length} acks were refused together and go one by one: ${String(error)}`,
      );
      await this.sendEachAlone(connection, taken);
      return;
    }
    if (!Array.isArray(outcomes) || outcomes.length !== taken.length) {
      throw new BrokerError('internal', 'the ack procedure answered for another number of acks');
    }
    taken.forEach(({ resolve, reject }, i) => {
      try {
        resolve(checkOutcome(outcomes[i]));
      } catch (error) {
        reject(error);
      }
    });
  }

  /** What PostgreSQL refuses fails only the one it is about; when the connection or the time ran out, the rest as well. */
  private async sendEachAlone(connection: AckConnection, acks: readonly Waiting[]): Promise<void> {
    let failure: unknown = null;
    for (const { ack, resolve, reject } of acks) {
      if (failure !== null) {
        reject(failure);
        continue;
      }
      try {
        resolve(await this.alone(connection, ack));
      } catch (error) {
        reject(error);
        if (!isRefusal(error)) failure = error;
      }
    }
  }

  private alone(connection: AckConnection, ack: HashCompletion): Promise<AckOutcome> {
    return this.counted(1, () => connection.callOne(logAckByHashV1, { ...ack, statuses: null }));
  }

  private async counted<T>(rows: number, statement: () => Promise<T>): Promise<T> {
    const startedMs = performance.now();
    const result = await statement();
    this.rtts.add(performance.now() - startedMs);
    this.counters.flushes += 1;
    this.counters.rows += rows;
    return result;
  }
}

function hashesOf({ hashes }: HashCompletion): number {
  return hashes.length / HASH_BYTES;
}

function isTimeout(error: unknown): boolean {
  return error instanceof BrokerError && error.code === 'statement_timeout';
}
