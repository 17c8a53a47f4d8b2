import { messagesIn } from './messages-in.mjs';
import { Wire } from './wire.mjs';

/** One client of a broker over HTTP, as the generator needs it. */
export class HttpClient {
  constructor(base) {
    this.wire = new Wire(base);
  }

  /**
   * @param {{ partition: string, transactionId: string, payload: string }[]} messages
   * @returns whether all were stored, none of them as a duplicate
   */
  async push(queue, messages) {
    let items = '';
    for (const { partition, transactionId, payload } of messages) {
      items += `${items === '' ? '' : ','}{"queue":"${queue}","partition":"${partition}","transactionId":"${transactionId}","payload":${payload}}`;
    }
    const { status, text } = await this.wire.send('POST', '/api/v1/push', `{"items":[${items}]}`);
    return status === 201 && !text.includes('"status":"duplicate"') && !text.includes('"status":"failed"');
  }

  /** The messages, none when there are none; null for any other answer. */
  async pop({ queue, group, batch, partitions, autoAck, timeoutMs }) {
    const { status, text } = await this.wire.send(
      'GET',
      `/api/v1/pop/queue/${queue}?consumerGroup=${group}&batch=${batch}&partitions=${partitions}&wait=true&timeout=${timeoutMs}${autoAck ? '&autoAck=true' : ''}`,
    );
    if (status === 204) return [];
    return status === 200 ? messagesIn(text) : null;
  }

  /** @returns whether all were acked */
  async ack(group, messages) {
    let acks = '';
    for (const { transactionId, partitionId, leaseId } of messages) {
      acks += `${acks === '' ? '' : ','}{"transactionId":"${transactionId}","partitionId":"${partitionId}","leaseId":"${leaseId}","status":"completed"}`;
    }
    const { status, text } = await this.wire.send(
      'POST',
      '/api/v1/ack/batch',
      `{"consumerGroup":"${group}","acknowledgments":[${acks}]}`,
    );
    return status === 200 && !text.includes('"success":false');
  }

  close() {
    this.wire.close();
  }
}
