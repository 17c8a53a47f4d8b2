import { Histogram } from './histogram.mjs';

/**
 * What one group must get: each stream (one producer in one partition) from its first message on, each message once, in
 * order. A message that comes after a gap counts as out of order; what never comes is missing at the end.
 */
export class DeliveryCheck {
  delivered = 0;
  duplicated = 0;
  outOfOrder = 0;
  endToEnd = new Histogram();
  last = new Map();

  /**
   * @param {string} transactionId `<stream>-<seq>`
   * @param {number} sentMicros and `nowMicros`: microseconds since 1970
   */
  record(transactionId, sentMicros, nowMicros) {
    const dash = transactionId.lastIndexOf('-');
    const stream = transactionId.slice(0, dash);
    const seq = Number(transactionId.slice(dash + 1));
    const last = this.last.get(stream) ?? -1;
    this.endToEnd.record(nowMicros - sentMicros);
    if (seq <= last) {
      this.duplicated++;
      return;
    }
    if (seq !== last + 1) this.outOfOrder++;
    this.last.set(stream, seq);
    this.delivered++;
  }
}
