import { Injectable } from '@nestjs/common';
import { BrokerError } from '../base/errors/broker-error.js';
import { PushReplay, type SpoolMessage } from '../base/spool/push-spool.js';
import { Countdown } from './countdown.js';
import { Flusher } from './flush/flusher.js';
import { partitionTarget, type PartitionTarget } from './partition-target.js';
import { PushMessage } from './push-message.js';

interface Group {
  readonly target: PartitionTarget;
  readonly messages: PushMessage[];
  readonly leaders: Map<string, PushMessage>;
}

/**
 * Messages out of the spool, on the way of every push: permit, bundle, duplicates, hot-list. None passes for minted:
 * nobody knows whether the flush that failed had been committed, so each is looked for.
 */
@Injectable()
export class FlusherReplay extends PushReplay {
  constructor(private readonly flusher: Flusher) {
    super();
  }

  override async replay(spooled: readonly SpoolMessage[]): Promise<(BrokerError | null)[]> {
    const request = new Countdown();
    const groups = new Map<string, Group>();
    const messages = spooled.map((one) => {
      const { tenant, queue, partition } = one.target;
      const target = partitionTarget(tenant, queue, partition);
      let group = groups.get(target.key);
      if (!group) groups.set(target.key, (group = { target, messages: [], leaders: new Map() }));
      return place(group, one, request);
    });
    for (const { target, messages: inOrder } of groups.values()) this.flusher.add(target, inOrder);
    request.takeOff();
    await request.done;
    return messages.map(({ failure }) => failure);
  }
}

/** A client that sent its push again may have left the same message in the spool twice. */
function place(group: Group, one: SpoolMessage, request: Countdown): PushMessage {
  const { messageId, transactionId, traceId, headers, payload, encrypted, producerSub } = one;
  const message = new PushMessage(
    ...([group.target, request, messageId, transactionId, false, traceId, headers, payload] as const),
    { encrypted, producerSub, isReplay: true },
  );
  const key = transactionId.toString('latin1');
  const leader = group.leaders.get(key);
  if (leader) leader.lead(message);
  else {
    group.leaders.set(key, message);
    group.messages.push(message);
  }
  return message;
}
