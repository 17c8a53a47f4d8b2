import type { Checkout } from './checkout.js';

/** Check-outs that are not back yet, oldest first. */
export class OpenCheckouts {
  private readonly byId = new Map<number, Checkout>();
  private lastId = 0;

  get size(): number {
    return this.byId.size;
  }

  /** Never 0, which stands for "owned by nobody"; fits the owner column. */
  nextId(): number {
    this.lastId = (this.lastId % 0xffff_fffe) + 1;
    return this.lastId;
  }

  add(checkout: Checkout): void {
    this.byId.set(checkout.id, checkout);
  }

  remove(checkout: Checkout): void {
    this.byId.delete(checkout.id);
  }

  isAlive(id: number): boolean {
    return this.byId.has(id);
  }

  /** Gives back what was taken before `beforeMs`: its pop was lost. Returns how many there were; expected is 0. */
  expire(beforeMs: number): number {
    let expired = 0;
    for (const checkout of this.byId.values()) {
      if (checkout.takenAtMs >= beforeMs) break;
      checkout[Symbol.dispose]();
      expired++;
    }
    return expired;
  }
}
