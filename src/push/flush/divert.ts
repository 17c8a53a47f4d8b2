import { Inject, Injectable, Optional } from '@nestjs/common';
import { BrokerError } from '../../base/errors/broker-error.js';
import { PushSpool } from '../../base/spool/push-spool.js';
import { isDatabaseAway } from '../../raw-sql/sql-failure.js';
import type { PushMessage } from '../push-message.js';
import type { PlannedSegment } from './flush-plan.js';

/**
 * What does not go to the database: before a flush, where the spool claims a partition; after one, where the database
 * turned out to be away. Anything else that fails (too much at once, a statement) fails as before: a spool that took it
 * would hide it.
 *
 * Messages are handed to the spool in the order of the partition, and the partition's next segment leaves only
 * afterwards, so the spool has them in order too.
 */
@Injectable()
export class Divert {
  constructor(@Optional() @Inject(PushSpool) private readonly spool: PushSpool | null = null) {}

  /** Takes out what must not be sent; the rest is for the database. */
  before(planned: readonly PlannedSegment<PushMessage>[]): readonly PlannedSegment<PushMessage>[] {
    const { spool } = this;
    if (!spool || !planned.some(({ target }) => spool.diverts(target))) return planned;
    return planned.flatMap((segment) => {
      if (!spool.diverts(segment.target)) return [segment];
      const toSpool = segment.items.filter(({ isReplay }) => !isReplay);
      const items = segment.items.filter(({ isReplay }) => isReplay);
      this.write(spool, toSpool, null);
      return items.length === 0 ? [] : [{ ...segment, items }];
    });
  }

  /** After the flush failed with `error`: every message gets its verdict, from the spool or now. */
  after(messages: readonly PushMessage[], error: BrokerError): void {
    const { spool } = this;
    const isAway = isDatabaseAway(error);
    if (isAway) spool?.databaseAway();
    const toSpool = isAway && spool?.isEnabled ? messages.filter(({ isReplay }) => !isReplay) : [];
    if (spool) this.write(spool, toSpool, error);
    const others = toSpool.length === 0 ? messages : messages.filter(({ isReplay }) => isReplay);
    for (const message of others) message.failed(error);
  }

  stored(): void {
    this.spool?.databaseAnswered();
  }

  /** `cause`: the error a client gets when the spool fails as well; the spool's own where nothing had failed before. */
  private write(spool: PushSpool, messages: readonly PushMessage[], cause: BrokerError | null): void {
    if (messages.length === 0) return;
    spool.write(messages).then(
      () => {
        for (const message of messages) message.buffered();
      },
      (error: unknown) => {
        const failure = cause ?? (error instanceof BrokerError ? error : new BrokerError('spool_failed'));
        for (const message of messages) message.failed(failure);
      },
    );
  }
}
