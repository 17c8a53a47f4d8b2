import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, type Clock } from '../base/clock/clock.js';
import { environmentConfig, type Environment } from '../base/config/environment.js';
import { Deadline } from '../base/clock/deadline.js';
import { PopMaintenance } from '../base/maintenance/maintenance-switch.js';
import { LimiterService } from '../limiter/limiter.service.js';
import { WaitExpiredError } from '../limiter/lane.js';
import { QueueConfigService } from '../queue-config/queue-config.service.js';
import { RawSqlService } from '../raw-sql/raw-sql.service.js';
import { WakeGateService } from '../wake-gate/wake-gate.service.js';
import type { CandidateSource, Round } from './candidate-source/candidate-source.js';
import { ChooseSource } from './candidate-source/choose-source.js';
import type { ClaimedPartition } from './claim.js';
import { nothing, type Delivery } from './delivery.js';
import { FillWindow } from './fill-window.js';
import { HandOver } from './hand-over.js';
import { PopMetrics } from './pop.metrics.js';
import type { PopRequest } from './pop.request.js';
import { PutAside } from './put-aside.js';
import { retried } from './retry-claim.js';
import { WaitBackoff, type WaitBackoffOptions } from './wait-backoff.js';

/**
 * The life of a pop. The order is the design; it is written here and nowhere else.
 *
 *   look (memory) → hold to fill (timer) → permit → connection → claim → both given back → hand over
 *        └─ nothing there: park at the gate holding nothing, look again, until the deadline
 *
 * Looking costs neither a permit nor a pooled connection: quiet re-polls grow with the number of parked consumers and
 * would otherwise queue in front of the one pop that has something to deliver.
 */
@Injectable()
export class PopService {
  private readonly backoffOptions: WaitBackoffOptions;

  constructor(
    private readonly maintenance: PopMaintenance,
    private readonly chooseSource: ChooseSource,
    private readonly fillWindow: FillWindow,
    private readonly limiter: LimiterService,
    private readonly rawSql: RawSqlService,
    private readonly putAside: PutAside,
    private readonly handOver: HandOver,
    private readonly wakeGate: WakeGateService,
    private readonly queueConfig: QueueConfigService,
    private readonly metrics: PopMetrics,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(environmentConfig.KEY) environment: Environment,
  ) {
    this.backoffOptions = {
      initialMs: environment.POP_WAIT_INITIAL_INTERVAL_MS,
      threshold: environment.POP_WAIT_BACKOFF_THRESHOLD,
      multiplier: environment.POP_WAIT_BACKOFF_MULTIPLIER,
      maxMs: environment.POP_WAIT_MAX_INTERVAL_MS,
    };
  }

  async serve(request: PopRequest, gone: AbortSignal): Promise<Delivery> {
    const deadline = Deadline.in(this.clock, request.timeoutMs);
    const backoff = new WaitBackoff(this.backoffOptions);
    using ticket = request.wait ? this.wakeGate.ticket(request.wakeKey) : null;

    for (let woken = false; ;) {
      if (this.mustLeave) return nothing;
      ticket?.refresh(); // before looking: a wake from here on counts
      const source = await this.chooseSource.for(request);

      if (!(await source.mayHaveWork(request))) this.metrics.attempt(source.path, 'quiet');
      else {
        if (this.fillWindow.anyConfigured) await this.holdToFill(source, request, deadline, gone);
        if (this.mustLeave) return nothing;
        const claimed = await this.claim(source, request, deadline, gone, { woken });
        if (claimed.length > 0) return this.handOver.of(request, claimed);
      }

      if (!ticket || deadline.hasPassed || gone.aborted) return nothing;
      const waitMs = backoff.next(deadline.remainingMs, this.clock.monoMs());
      woken = await this.wakeGate.park(ticket, waitMs, gone, () => source.stillQuiet(request));
      if (woken) backoff.reset();
    }
  }

  /** Nothing is served in maintenance, and nothing new is claimed by a broker that is about to be gone. */
  private get mustLeave(): boolean {
    return this.maintenance.isOn || this.wakeGate.isClosed;
  }

  /** The minimum pop wait: only for an under-full batch, holding nothing (seed, "The minimum pop wait"). */
  private holdToFill(
    source: CandidateSource,
    request: PopRequest,
    deadline: Deadline,
    gone: AbortSignal,
  ): Promise<void> {
    const minPopWaitMs = this.queueConfig.peek(request.tenant, request.queue)?.minPopWaitMs ?? 0;
    // In maintenance nothing is worth waiting for: the wake that comes with the switch ends the hold.
    const estimate = (limit: number) => (this.maintenance.isOn ? limit : source.estimate(request, limit));
    return this.fillWindow.hold({ estimate }, request, minPopWaitMs, deadline, gone);
  }

  /** In one statement with other pops, or alone: permit, then connection. Both are back before this returns. */
  private async claim(
    source: CandidateSource,
    request: PopRequest,
    deadline: Deadline,
    gone: AbortSignal,
    round: Round,
  ): Promise<ClaimedPartition[]> {
    const waitMs = request.wait ? deadline.remainingMs : undefined;
    // Others of a woken herd may have taken it while this one waited: their surplus costs no connection.
    const isMoot = () => this.mustLeave || source.stillQuiet(request) === true;
    try {
      const shared = source.claimShared?.({ request, gone, waitMs, isMoot });
      const claimed = await (shared ??
        this.limiter.withPermit(
          'pop',
          gone,
          async (permit) => {
            if (isMoot()) return [];
            return this.rawSql.withConnection(gone, (connection) =>
              this.putAside.claim(connection, request, () =>
                retried(permit, () => source.claim(connection, request, round)),
              ),
            );
          },
          { key: request.key, waitMs },
        ));
      this.metrics.attempt(source.path, claimed.length > 0 ? 'data' : 'empty');
      return claimed;
    } catch (error) {
      this.metrics.failure(source.path, error);
      if (error instanceof WaitExpiredError) return []; // the deadline passed in the queue: an empty answer, not a failure
      throw error;
    }
  }
}
