import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, type Clock } from '../../base/clock/clock.js';
import { AbortedError } from '../../base/errors/aborted-error.js';
import { BrokerError } from '../../base/errors/broker-error.js';
import { SampledLogger } from '../../base/log/sampled-logger.js';
import type { Checkout } from '../../hotlist/checkout.js';
import { WaitExpiredError } from '../../limiter/lane.js';
import { LIMITER_OPTIONS, type LimiterOptions } from '../../limiter/limiter.options.js';
import { LimiterService } from '../../limiter/limiter.service.js';
import type { Permit } from '../../limiter/permit.js';
import { RawSqlService } from '../../raw-sql/raw-sql.service.js';
import type { SqlConnection } from '../../raw-sql/connection-lease.js';
import { RingCandidates } from '../candidate-source/ring-candidates.js';
import type { ClaimedPartition } from '../claim.js';
import { PutAside } from '../put-aside.js';
import { CLAIM_FLUSH_OPTIONS, type ClaimFlushOptions } from './claim-flush.options.js';
import { ClaimJob, type SharedClaim } from './claim-job.js';
import { ClaimLine } from './claim-line.js';
import { ClaimSender, type ClaimSendStats, type JobOutcome } from './claim-sender.js';
import type { JobAnswer } from './job-answer.js';

/** Candidates of one statement; a pop over many partitions takes hundreds. */
const NAMES_PER_FLIGHT = 512;
/** After a shared claim ran into its timeout, pops claim alone for this long: then only the one that is slow is slow. */
const ALONE_MS = 60_000;

/**
 * A pop that was held to fill its batch comes with no time left, and has messages to take. It gets the turn that is about
 * to begin, and is only refused when it would have to wait for another to end.
 */
const LAST_TURN_MS = 20;

export interface ClaimFlushStats extends ClaimSendStats {
  /** Pops that wait for their turn … */
  waiting: number;
  /** … and those whose turn it is. */
  serving: number;
  /** Statements under way or about to be. */
  inFlight: number;
  /** Claims whose client had left when they were there. */
  abandoned: number;
}

interface Part {
  readonly job: ClaimJob;
  readonly names: Checkout;
}

/**
 * Claims of pops that come while a claim is under way share the next one: one statement, one commit. The flight is the
 * clock, so a lone pop waits for nobody and there is no timer that would delay it. Every pop has candidates of its own,
 * since a name that is out of the ring is nobody else's, and an answer of its own.
 *
 * Waiting pops hold neither permit nor connection nor candidates; the flight takes them in this order (G2, G3).
 */
@Injectable()
export class ClaimFlusher {
  private readonly logger = new SampledLogger('Pop');
  private readonly line = new ClaimLine();
  private flights = 0;
  private serving = 0;
  private isScheduled = false;
  private aloneUntilMs = -Infinity;
  private abandoned = 0;

  constructor(
    private readonly limiter: LimiterService,
    private readonly rawSql: RawSqlService,
    private readonly candidates: RingCandidates,
    private readonly sender: ClaimSender,
    private readonly putAside: PutAside,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(CLAIM_FLUSH_OPTIONS) private readonly options: ClaimFlushOptions,
    @Inject(LIMITER_OPTIONS) private readonly limits: Pick<LimiterOptions, 'maxWaiters' | 'maxWaitMs'>,
  ) {}

  /** False while every pop shall claim alone. */
  get isOpen(): boolean {
    return this.options.fusion && this.clock.monoMs() >= this.aloneUntilMs;
  }

  /**
   * What the pop got; empty when there was nothing to be had. A client that leaves ends the waiting, never a statement
   * that has begun: what that claims for it stays leased until the lease runs out.
   * @throws AbortedError, WaitExpiredError, BrokerError as LimiterService.withPermit and the claim itself
   */
  claim(claim: SharedClaim): Promise<ClaimedPartition[]> {
    const { gone, waitMs = Infinity, request } = claim;
    if (gone.aborted) return Promise.reject(new AbortedError());
    if (waitMs <= 0 && this.flights >= this.options.flightsMax) return Promise.reject(new WaitExpiredError());
    if (this.line.size >= this.limits.maxWaiters) return Promise.reject(new BrokerError('overloaded'));
    return new Promise((resolve, reject) => {
      const job = new ClaimJob(claim, this.candidates.most(request), resolve, reject);
      const { maxWaitMs } = this.limits;
      job.cancelTimer = this.clock.after(Math.min(Math.max(waitMs, LAST_TURN_MS), maxWaitMs), () => {
        if (job.line) job.fail(waitMs < maxWaitMs ? new WaitExpiredError() : new BrokerError('overloaded'));
      });
      this.line.push(job);
      this.schedule();
    });
  }

  stats(): ClaimFlushStats {
    return {
      ...this.sender.stats(),
      waiting: this.line.size,
      serving: this.serving,
      inFlight: this.flights,
      abandoned: this.abandoned,
    };
  }

  /** Round trip of the last statements in milliseconds; `q` from 0 to 1. */
  rttQuantileMs(q: number): number {
    return this.sender.rttQuantileMs(q);
  }

  /** At the end of this turn of the event loop: pops that came or were woken together claim together. */
  private schedule(): void {
    if (this.isScheduled || this.flights >= this.options.flightsMax) return;
    this.isScheduled = true;
    setImmediate(() => {
      this.isScheduled = false;
      if (this.line.size > 0 && this.flights < this.options.flightsMax) void this.fly();
    });
  }

  /** One flight. Never rejects. */
  private async fly(): Promise<void> {
    this.flights += 1;
    let jobs: ClaimJob[] | undefined;
    try {
      await this.limiter.withPermit('pop', null, async (permit) => {
        jobs = this.take();
        if (jobs.length === 0) return;
        const taken = jobs;
        this.serving += taken.length;
        await this.rawSql.withConnection(null, (connection) => this.serve(connection, permit, taken));
      });
    } catch (error) {
      for (const job of jobs ?? this.take()) job.fail(error as Error);
    } finally {
      this.serving -= jobs?.length ?? 0;
      this.flights -= 1;
      if (this.line.size > 0) this.schedule();
    }
  }

  /** Those whose turn it is. Others of a woken herd may have taken the work: their surplus ends here. */
  private take(): ClaimJob[] {
    const jobs: ClaimJob[] = [];
    while (jobs.length < this.options.jobsMax) {
      const job = this.line.shift();
      if (!job) break;
      if (job.claim.isMoot()) job.deliver([]);
      else jobs.push(job);
    }
    return jobs;
  }

  private async serve(connection: SqlConnection, permit: Permit, jobs: readonly ClaimJob[]): Promise<void> {
    const parts: Part[] = [];
    try {
      this.checkOut(jobs, parts);
      if (parts.length === 0) return;
      const args = parts.map(({ job, names }) => ({
        request: job.request,
        names: names.list,
        skipWindow: this.candidates.skipsWindow(job.request),
      }));
      const outcomes = await this.sender.send(connection, permit, args);
      parts.forEach(({ job, names }, i) => this.checkIn(job, names, outcomes[i], parts.length));
      // Those first that have nothing to be put aside: it takes a statement each.
      const asides: [ClaimJob, JobAnswer][] = [];
      for (const [i, { job }] of parts.entries()) {
        const outcome = outcomes[i];
        if ('failure' in outcome) job.fail(outcome.failure);
        else if (outcome.claimed.some(({ attempt }) => attempt === 0)) asides.push([job, outcome]);
        else this.conclude(job, outcome.claimed, outcome.verdicts.length);
      }
      for (const [job, { claimed, verdicts }] of asides) {
        this.conclude(job, await this.putAside.settle(connection, job.request, claimed), verdicts.length);
      }
    } finally {
      for (const { names } of parts) names[Symbol.dispose]();
    }
  }

  private checkOut(jobs: readonly ClaimJob[], parts: Part[]): void {
    let left = NAMES_PER_FLIGHT;
    for (const job of jobs) {
      if (job.hasEnded) continue; // its client left while the connection was waited for
      if (left <= 0) {
        this.line.push(job);
        continue;
      }
      const names = this.candidates.checkOut(job.request, Math.min(job.namesLeft, left));
      if (names.list.length === 0) {
        job.deliver([]);
        continue;
      }
      left -= names.list.length;
      parts.push({ job, names });
    }
  }

  private checkIn(job: ClaimJob, names: Checkout, outcome: JobOutcome, jobs: number): void {
    if ('failure' in outcome) {
      names[Symbol.dispose]();
      this.noteFailure(outcome.failure, jobs);
    } else {
      this.candidates.checkIn(names, job.request, outcome.verdicts);
    }
  }

  /** @param looked candidates with a verdict */
  private conclude(job: ClaimJob, claimed: ClaimedPartition[], looked: number): void {
    job.namesLeft -= looked;
    if (claimed.length > 0) {
      if (job.hasEnded) this.abandoned += 1;
      job.deliver(claimed);
    } else if (!job.hasEnded && job.namesLeft > 0 && this.candidates.hasReady(job.request)) {
      this.line.push(job);
    } else {
      job.deliver([]);
    }
  }

  private noteFailure(failure: Error, jobs: number): void {
    if (jobs === 1 || !(failure instanceof BrokerError) || failure.code !== 'statement_timeout') return;
    if (this.isOpen) {
      this.logger.warn(
        'shared claim',
        `a claim of ${jobs} pops timed out; for ${ALONE_MS / 1000} s each pop claims alone`,
      );
    }
    this.aloneUntilMs = this.clock.monoMs() + ALONE_MS;
  }
}
