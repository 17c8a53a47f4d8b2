import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, type Clock } from '../base/clock/clock.js';
import { BrokerError } from '../base/errors/broker-error.js';
import { queueKey } from '../base/queue-key.js';
import { QueueEncryption } from '../encryption/queue-encryption.js';
import { HotlistService } from '../hotlist/hotlist.service.js';
import type { MessageAddress } from '../http/message-address.js';
import { PushAdmission } from '../queue-controls/push-admission.js';
import { RawSqlService } from '../raw-sql/raw-sql.service.js';
import { withRetries } from '../raw-sql/with-retries.js';
import { mintUuid, uuidText } from '../segment/uuid-v7.js';
import { logDlqLetterV1, logDlqMoveV1, logDlqNewestV1 } from './dead-letters.procedures.js';
import { replaySegment, replayTransactionId } from './replay-segment.js';

/** Where a replay goes; what is null stays as it was. */
export interface ReplayTarget {
  readonly queue: string | null;
  readonly partition: string | null;
}

export const BACK_WHERE_IT_CAME_FROM: ReplayTarget = { queue: null, partition: null };

export type ReplayOutcome =
  | {
      readonly result: 'moved';
      /** Of the dead letter. */
      readonly id: string;
      readonly queue: string;
      readonly partition: string;
      readonly messageId: string;
      readonly transactionId: string;
    }
  | { readonly result: 'gone' | 'duplicate' | 'empty' };

/**
 * Puts a dead letter back into a log. One transaction pushes its message and deletes the letter, so of two callers one
 * moves it and the other finds it gone; "pushed but still dead" cannot be.
 */
@Injectable()
export class ReplayService {
  constructor(
    private readonly rawSql: RawSqlService,
    private readonly hotlist: HotlistService,
    private readonly admission: PushAdmission,
    private readonly encryption: QueueEncryption,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** @throws BrokerError `push_maintenance`, `queue_paused`, `too_many_messages`: a replay is a push like any other */
  async replay(tenant: string, id: string, target: ReplayTarget): Promise<ReplayOutcome> {
    const [letter] = await this.rawSql.call(logDlqLetterV1, { id, tenant });
    if (!letter) return { result: 'gone' };
    const { payload } = letter;
    if (payload === null) return { result: 'empty' };

    const queue = target.queue ?? letter.queue;
    const partition = target.partition ?? letter.partition;
    const messageId = mintUuid(this.clock.wallMs());
    const transactionId = replayTransactionId(id);
    // What was put aside in the clear must not go into an encrypted queue as it is; an envelope stays the one it is.
    const stored =
      !letter.encrypted && this.encryption.seals(tenant, queue)
        ? { payload: this.encryption.seal(Buffer.from(payload)).toString(), encrypted: true }
        : { payload, encrypted: letter.encrypted };
    const segment = replaySegment(transactionId, messageId, { ...letter, ...stored });
    using _room = this.admission.isOpen ? null : await this.admission.admit(tenant, new Map([[queue, 1]]));
    const { result } = await withRetries(() =>
      this.rawSql.callOne(logDlqMoveV1, { tenant, id, queue, partition, ...segment }),
    );
    if (result === 'maintenance') throw new BrokerError('push_maintenance', undefined, { success: false });
    if (result !== 'moved') return { result };
    // Before the client hears of it, as with a push: its next pop finds the message.
    this.hotlist.offer(queueKey(tenant, queue), partition, 1, { broadcast: true });
    return { result, id, queue, partition, messageId: uuidText(messageId), transactionId };
  }

  /** The newest dead letter of a message goes back where it came from; `gone` when there is none. */
  async replayNewest(address: MessageAddress): Promise<ReplayOutcome> {
    const id = await this.rawSql.callOne(logDlqNewestV1, address);
    return id === null ? { result: 'gone' } : this.replay(address.tenant, id, BACK_WHERE_IT_CAME_FROM);
  }
}
