import { Injectable } from '@nestjs/common';
import { CoalescedCalls } from '../../base/coalesced-calls.js';
import { QueueEvents } from '../../base/queue-events.js';
import { RawSqlService } from '../../raw-sql/raw-sql.service.js';
import { logGroupSeededV1 } from '../pop.procedures.js';

export interface GroupOfQueue {
  readonly tenant: string;
  readonly queue: string;
  readonly key: string;
  readonly group: string;
}

/** Bounded, because names come from clients. */
const KNOWN_MAX = 100_000;

/**
 * Whether a (queue, group) has had its first contact. Only "yes" is remembered: a group that is not seeded yet may be
 * seeded by any broker at any moment, and a pop that asks again merely takes the wildcard path once more.
 */
@Injectable()
export class SeedMarkers {
  private readonly known = new Set<string>();
  private readonly lookups = new CoalescedCalls<boolean>();

  constructor(
    private readonly rawSql: RawSqlService,
    events: QueueEvents,
  ) {
    events.onQueueDropped(({ key }) => this.forget(key));
    events.onGroupForgotten(({ key, group }) => this.forget(key, group));
  }

  /** The remembered answer only; asks nobody. */
  isKnown(of: GroupOfQueue): boolean {
    return this.known.has(idOf(of.key, of.group));
  }

  async isSeeded(of: GroupOfQueue): Promise<boolean> {
    const id = idOf(of.key, of.group);
    if (this.known.has(id)) return true;
    const seeded = await this.lookups.call(id, () => this.rawSql.callOne(logGroupSeededV1, of));
    if (seeded) {
      if (this.known.size >= KNOWN_MAX) this.known.clear();
      this.known.add(id);
    }
    return seeded;
  }

  /** After a group's or queue's deletion the next pop is a first contact again. */
  forget(key: string, group?: string): void {
    if (group !== undefined) {
      this.known.delete(idOf(key, group));
      return;
    }
    for (const id of this.known) if (id.startsWith(`${key}\u001e`)) this.known.delete(id);
  }

  forgetAll(): void {
    this.known.clear();
  }
}

function idOf(key: string, group: string): string {
  return `${key}\u001e${group}`;
}
