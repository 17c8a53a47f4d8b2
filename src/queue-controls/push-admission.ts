import { Injectable } from '@nestjs/common';
import { BrokerError } from '../base/errors/broker-error.js';
import { queueKey } from '../base/queue-key.js';
import { Backlogs, type Reservation } from './backlogs.js';
import { QueueControls } from './queue-controls.service.js';

/**
 * Whether a push may begin: not to a paused queue, and not beyond a queue's maxSize. A request is let in or refused
 * as a whole, so that a client which sends it again knows what became of it: nothing of it was stored.
 */
@Injectable()
export class PushAdmission {
  constructor(
    private readonly controls: QueueControls,
    private readonly backlogs: Backlogs,
  ) {}

  /** Nothing to ask: no queue is paused or bounded. To be read before anything is counted for `admit`. */
  get isOpen(): boolean {
    return this.controls.areNone;
  }

  /**
   * Dispose the result when the push has its verdicts.
   * @param counts messages by queue
   * @throws BrokerError `queue_paused`, `too_many_messages`
   */
  async admit(tenant: string, counts: ReadonlyMap<string, number>): Promise<Reservation> {
    const bounded: { key: string; messages: number; queue: string; maxSize: number }[] = [];
    for (const [queue, messages] of counts) {
      const key = queueKey(tenant, queue);
      const control = this.controls.find(key);
      if (control?.pushesPaused) {
        throw new BrokerError('queue_paused', `queue ${JSON.stringify(queue)} is paused for pushes`, {
          queue,
        });
      }
      if (control && control.maxSize > 0) bounded.push({ key, queue, messages, maxSize: control.maxSize });
    }

    await Promise.all(bounded.map(({ key }) => this.backlogs.refresh(key)));
    // From here on in one turn: what one push was shown as free no other can take.
    for (const { key, queue, messages, maxSize } of bounded) {
      const level = this.backlogs.level(key);
      if (level + messages <= maxSize) continue;
      throw new BrokerError(
        'too_many_messages',
        `queue ${JSON.stringify(queue)} holds ${level} of at most ${maxSize} messages; ${messages} more do not fit`,
        { queue, messages: level, maxSize },
      );
    }
    const reservations = bounded.map(({ key, messages }) => this.backlogs.reserve(key, messages));
    return { [Symbol.dispose]: () => reservations.forEach((one) => one[Symbol.dispose]()) };
  }
}
