import { Injectable } from '@nestjs/common';
import { BrokerError } from '../base/errors/broker-error.js';
import { HotlistService } from '../hotlist/hotlist.service.js';
import { QueueControls } from '../queue-controls/queue-controls.service.js';
import { RawSqlService } from '../raw-sql/raw-sql.service.js';
import { WakeGateService } from '../wake-gate/wake-gate.service.js';
import { setQueuePauseV1, type PausedQueue } from './pause.procedures.js';
import type { PauseRequest } from './pause.request.js';

/** Stops and restarts the pops or pushes of one queue; it survives restarts and holds on every broker. */
@Injectable()
export class PauseService {
  constructor(
    private readonly rawSql: RawSqlService,
    private readonly controls: QueueControls,
    private readonly hotlist: HotlistService,
    private readonly gates: WakeGateService,
  ) {
    // Also for a resume on another broker. Entries may rest on the wheel for a while since they were refused, so the
    // ring compares itself with the database once; then those who are parked look again.
    this.controls.onPopsResumed((key) => {
      this.hotlist.forceFullReseed(key);
      this.gates.open(key);
    });
  }

  /** @throws BrokerError `not_found` */
  pause(tenant: string, queue: string, { pops, pushes }: PauseRequest): Promise<PausedQueue> {
    return this.set(tenant, queue, pops ? true : null, pushes ? true : null);
  }

  /** @throws BrokerError `not_found` */
  resume(tenant: string, queue: string, { pops, pushes }: PauseRequest): Promise<PausedQueue> {
    return this.set(tenant, queue, pops ? false : null, pushes ? false : null);
  }

  private async set(
    tenant: string,
    queue: string,
    pops: boolean | null,
    pushes: boolean | null,
  ): Promise<PausedQueue> {
    const result = await this.rawSql.callOne(setQueuePauseV1, { tenant, queue, pops, pushes });
    if ('error' in result) throw new BrokerError('not_found', result.error);
    await this.controls.refreshAfterChange();
    return result;
  }
}
