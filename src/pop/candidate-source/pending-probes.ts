import { Injectable } from '@nestjs/common';
import { CoalescedCalls } from '../../base/coalesced-calls.js';
import { RawSqlService } from '../../raw-sql/raw-sql.service.js';
import type { Procedure } from '../../raw-sql/procedure.js';
import type { PopArgs } from '../pop.procedures.js';

/** Probes running at once; they are cheap and must not crowd out serving (serve-path 4.1). */
const PROBES_MAX = 6;

/** The cheap "anything pending?" questions: no permit, shared between pops that ask the same at the same time. */
@Injectable()
export class PendingProbes {
  private readonly calls = new CoalescedCalls<boolean>();
  private running = 0;
  private readonly waiting: (() => void)[] = [];

  constructor(private readonly rawSql: RawSqlService) {}

  ask(probe: Procedure<PopArgs, boolean>, about: string, args: PopArgs): Promise<boolean> {
    return this.calls.call(`${probe.name}\u001f${about}`, async () => {
      if (this.running >= PROBES_MAX) await new Promise<void>((resolve) => this.waiting.push(resolve));
      this.running++;
      try {
        return await this.rawSql.callOne(probe, args);
      } finally {
        this.running--;
        this.waiting.shift()?.();
      }
    });
  }
}
