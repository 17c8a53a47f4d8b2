import { Injectable } from '@nestjs/common';
import { SampledLogger } from '../../base/log/sampled-logger.js';
import { HotlistService } from '../../hotlist/hotlist.service.js';
import type { ReseedWalk } from '../../hotlist/reseed-walk.js';
import { LimiterService } from '../../limiter/limiter.service.js';
import { RawSqlService } from '../../raw-sql/raw-sql.service.js';
import type { SqlConnection } from '../../raw-sql/connection-lease.js';
import { logHotlistReseedWindowV1, type ReseedPageRow } from '../pop.procedures.js';
import type { GroupOfQueue } from './seed-markers.js';

/** Rows a page asks for, and pages after which a walk ends: rows written meanwhile move behind it and come again. */
const PAGE_ROWS = 5000;
const PAGES_MAX = 400;

/**
 * Fetches what the database believes is pending and hands it to the ring: the floor under every lost mark. The ring
 * says when and how far back; this walks the pages, each on a connection of the maintenance lane.
 */
@Injectable()
export class ReseedWalker {
  private readonly logger = new SampledLogger(ReseedWalker.name);

  constructor(
    private readonly hotlist: HotlistService,
    private readonly limiter: LimiterService,
    private readonly rawSql: RawSqlService,
  ) {}

  /**
   * The first page on the caller's connection, so that its pop can serve from it; further pages in the background,
   * because a pop must not hold its permit for a walk over a million partitions.
   */
  async firstPage(connection: SqlConnection, of: GroupOfQueue): Promise<void> {
    const walk = this.hotlist.beginReseed(of.key, of.group);
    if (!walk) return; // another pop of this ring is walking already
    let last: ReseedPageRow | null;
    try {
      last = await this.page(connection, of, walk, null);
    } catch (error) {
      walk.finish(false);
      throw error;
    }
    if (last) void this.rest(of, walk, last);
    else walk.finish(true);
  }

  /** A whole walk in the maintenance lane: for the floor loop and after seeks. False when it failed. */
  async walk(of: GroupOfQueue): Promise<boolean> {
    const walk = this.hotlist.beginReseed(of.key, of.group);
    return walk === null || this.rest(of, walk, null);
  }

  private async rest(of: GroupOfQueue, walk: ReseedWalk, from: ReseedPageRow | null): Promise<boolean> {
    try {
      let last = from;
      for (let pages = 0; pages < PAGES_MAX; pages++) {
        const position = last;
        last = await this.limiter.withPermit('maintenance', null, () =>
          this.rawSql.withConnection(null, (connection) => this.page(connection, of, walk, position)),
        );
        if (last === null) break;
      }
      walk.finish(true);
      return true;
    } catch (error) {
      walk.finish(false);
      this.logger.warn('reseed', `reseed of a ring failed: ${(error as Error).message}`);
      return false;
    }
  }

  /** The last row, when a further page follows. */
  private async page(
    connection: SqlConnection,
    of: GroupOfQueue,
    walk: ReseedWalk,
    after: ReseedPageRow | null,
  ): Promise<ReseedPageRow | null> {
    const rows = await connection.call(logHotlistReseedWindowV1, {
      queue: of.queue,
      group: of.group,
      tenant: of.tenant,
      after,
      windowMs: walk.windowMs,
      cutoff: after?.cutoff ?? null,
      limit: PAGE_ROWS,
    });
    const isWanted = await walk.apply(rows);
    return isWanted && rows.length === PAGE_ROWS ? rows.at(-1)! : null;
  }
}
