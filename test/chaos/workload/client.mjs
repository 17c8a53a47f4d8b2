import { Agent, request } from 'undici';

/** Longer than any long-poll, shorter than a silence: then the answer is unknown, as it is for every client. */
const TIMEOUT_MS = 6000;

/** Requests of one worker to the brokers behind their proxies, each written to the history before and after. */
export class Client {
  /**
   * @param {string[]} targets
   * @param {import('../history.mjs').History} history
   */
  constructor(targets, history) {
    this.targets = targets;
    this.history = history;
    this.agent = new Agent({ connections: 64, keepAliveTimeout: 30_000 });
  }

  /** Statuses by item; null when nobody knows, or nothing was stored. */
  push(to, items) {
    const asked = items.map(({ queue, partition, transactionId }) => [queue, partition, transactionId]);
    return this.step('push', { to, items: asked }, 'POST', '/api/v1/push', { items }, (status, body) =>
      status === 201 ? { items: body.map(({ status, message_id }) => [status, message_id]) } : null,
    );
  }

  /** Messages, none included; null when nobody knows. */
  pop(to, { queue, group, batch, partitions, autoAck = false, leaseSeconds, timeoutMs }) {
    const asked = { to, queue, group, batch, partitions, autoAck, leaseSeconds };
    const query = new URLSearchParams({
      ...{ consumerGroup: group, batch, partitions, autoAck, leaseSeconds },
      ...{ wait: true, timeout: timeoutMs },
    });
    let messages = null;
    const path = `/api/v1/pop/queue/${queue}?${query}`;
    return this.step('pop', asked, 'GET', path, undefined, (status, body) => {
      if (status === 204) messages = [];
      else if (status === 200) messages = body.messages;
      else return null;
      const told = messages.map(({ id, transactionId, partitionId, partition, data }) => ({
        ...{ id, transactionId, partitionId, partition },
        // Each payload says which message it belongs to.
        ...(data?.id === transactionId ? {} : { wrong: JSON.stringify(data) ?? 'nothing' }),
      }));
      return { lease: status === 200 ? body.leaseId : '', messages: told };
    }).then((answer) => answer && { lease: answer.lease, messages });
  }

  /** One result per ack. `acks`: {partitionId, transactionId, status}. */
  ack(to, group, lease, acks) {
    const acknowledgments = acks.map((ack) => ({ ...ack, leaseId: lease, error: null }));
    const body = { consumerGroup: group, acknowledgments };
    return this.step(
      'ack',
      { to, group, lease, acks },
      'POST',
      '/api/v1/ack/batch',
      body,
      (status, results) =>
        status === 200
          ? { results: results.map(({ success, noop, dlq, error }) => ({ success, noop, dlq, error })) }
          : null,
    );
  }

  /** {success, error}. `pushes`: items with `of`, the message each was made from. */
  transaction(to, group, lease, pushes, acks) {
    const items = pushes.map(({ queue, partition, transactionId, payload }) => ({
      ...{ queue, partition, transactionId, payload },
    }));
    const operations = [
      ...(items.length > 0 ? [{ type: 'push', items }] : []),
      ...acks.map((ack) => ({ type: 'ack', ...ack, consumerGroup: group })),
    ];
    const asked = {
      ...{ to, group, lease, acks },
      pushes: pushes.map(({ queue, partition, transactionId, of }) => [queue, partition, transactionId, of]),
    };
    const body = { operations, requiredLeases: [lease] };
    return this.step('transaction', asked, 'POST', '/api/v1/transaction', body, (status, answer) =>
      status === 200 ? { success: answer.success, error: answer.error ?? null } : null,
    );
  }

  renew(to, lease, seconds) {
    const path = `/api/v1/lease/${lease}/extend`;
    return this.step('renew', { to, lease, seconds }, 'POST', path, { seconds }, (status, body) =>
      status === 200 ? { renewed: body.renewed } : null,
    );
  }

  seek(to, group, queue, timestamp) {
    const path = `/api/v1/consumer-groups/${group}/queues/${queue}/seek`;
    return this.step('seek', { to, group, queue, timestamp }, 'POST', path, { timestamp }, (status, body) =>
      status === 200 ? { success: body.success } : null,
    );
  }

  async configure(to, queue, options) {
    const body = { queue, options };
    return this.step('configure', { to, ...body }, 'POST', '/api/v1/configure', body, (status) =>
      status === 200 ? {} : null,
    );
  }

  /** `told`: what of the answer goes to the history and to the caller; null for one that leaves open what happened. */
  async step(what, asked, method, path, body, told) {
    const op = this.history.start(what, asked);
    try {
      const answer = await request(this.targets[asked.to] + path, {
        ...{ method, dispatcher: this.agent, signal: AbortSignal.timeout(TIMEOUT_MS) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await answer.body.text();
      const known = told(answer.statusCode, text === '' ? null : JSON.parse(text));
      if (known) this.history.end(op, 'ok', known);
      else this.history.end(op, 'unknown', { status: answer.statusCode, body: text.slice(0, 300) });
      return known;
    } catch (error) {
      this.history.end(op, 'unknown', { error: error.code ?? error.name });
      return null;
    }
  }

  close() {
    return this.agent.destroy();
  }
}
