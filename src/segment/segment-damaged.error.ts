import { BrokerError } from '../base/errors/broker-error.js';

/**
 * A stored segment is not what was written: cut short, flipped, of an unknown version, or it holds another number of
 * messages than its row says. `what` names the fault and carries no byte of any message; who knows the segment's
 * partition and offset adds them.
 */
export class SegmentDamagedError extends BrokerError {
  constructor(what: string, options?: { cause?: unknown }) {
    super('segment_damaged', `segment damaged: ${what}`, undefined, options);
    this.name = 'SegmentDamagedError';
  }
}
