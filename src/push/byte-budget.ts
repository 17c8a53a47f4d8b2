import { BrokerError } from '../base/errors/broker-error.js';

/** Bytes held by pushes that have no answer yet. At the bound new ones are refused instead of queued. */
export class ByteBudget {
  private taken = 0;

  constructor(private readonly max: number) {}

  get takenBytes(): number {
    return this.taken;
  }

  /**
   * Held until disposed. An idle budget admits one push of any size: refusing it would refuse it for ever.
   * @throws BrokerError `overloaded` (503) when it does not fit beside the others
   */
  take(bytes: number): Disposable {
    if (this.taken > 0 && this.taken + bytes > this.max) throw new BrokerError('overloaded');
    this.taken += bytes;
    return { [Symbol.dispose]: () => void (this.taken -= bytes) };
  }
}
