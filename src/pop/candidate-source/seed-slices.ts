import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, type Clock } from '../../base/clock/clock.js';
import { RawSqlService } from '../../raw-sql/raw-sql.service.js';
import { logSeedSliceV1 } from '../pop.procedures.js';
import type { PopRequest } from '../pop.request.js';

/** Partitions a statement; at about 15 µs each far from the statement timeout. A queue of fewer is not sliced at all. */
const SLICE = 10_000;

/**
 * Seeds a group's cursors on a large queue before its first contact, slice by slice. The registration alone would write
 * a million rows in one statement, meet its timeout and start from nothing at the next pop; slices stay.
 *
 * One walk per (queue, group), shared by all its pops, without a permit: other queues go on meanwhile.
 */
@Injectable()
export class SeedSlices {
  private readonly walks = new Map<string, Promise<void>>();

  constructor(
    private readonly rawSql: RawSqlService,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** True once the registration is cheap; false when the walk is still going at the end of this pop's patience. */
  async ready(request: PopRequest): Promise<boolean> {
    const id = `${request.key}\u001e${request.group}`;
    let walk = this.walks.get(id);
    if (!walk) {
      walk = this.walk(request).finally(() => this.walks.delete(id));
      this.walks.set(id, walk);
    }
    let cancel = (): void => undefined;
    const patience = new Promise<false>((resolve) => {
      cancel = this.clock.after(request.timeoutMs, () => resolve(false));
    });
    return Promise.race([walk.then(() => true), patience]).finally(() => cancel());
  }

  private async walk(request: PopRequest): Promise<void> {
    let after: string | null = null;
    do {
      after = await this.rawSql.callOne(logSeedSliceV1, { ...request, after, limit: SLICE });
    } while (after !== null);
  }
}
