import { decodeSegment } from './segment.mjs';

/** The generator's client without HTTP and JSON: calls go straight to the store, and from there to the driver. */
export class DirectClient {
  constructor(store) {
    this.store = store;
  }

  async push(queue, messages) {
    await this.store.push(queue, messages);
    return true;
  }

  async pop(request) {
    const { leaseId, parts } = await this.store.pop(request);
    const messages = [];
    for (const { partitionId, blob, start, take } of parts) {
      for (const { transactionId, payload } of decodeSegment(blob, start, take)) {
        const timeAt = payload.indexOf('"t":') + 4;
        const micros = Number(payload.slice(timeAt, payload.indexOf(',', timeAt)));
        messages.push({ transactionId, micros, partitionId, leaseId });
      }
    }
    return messages;
  }

  async ack(group, messages) {
    const { leaseId } = messages[0];
    const partitionIds = new Set(messages.map(({ partitionId }) => partitionId));
    const acked = await Promise.all([...partitionIds].map((id) => this.store.ack(group, leaseId, id)));
    return acked.every(Boolean);
  }

  close() {}
}
