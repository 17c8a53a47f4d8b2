import { Injectable } from '@nestjs/common';

/**
 * "The database has news that brokers keep in memory: read it." Whoever changed a flag, a pause or a cursor announces
 * it after the commit; whoever keeps such a thing reads it again when told. Between brokers this travels as a hint, so
 * that a change acts everywhere at once; the reconcile interval remains the floor.
 *
 * Who reads again must begin a reading: one under way may have begun before the change (`Loop.nudge`).
 */
@Injectable()
export class Reconcile {
  private readonly due = new Set<() => void>();
  private readonly announced = new Set<() => void>();
  private carrier: () => boolean = () => false;

  /** Another broker announced news. */
  onDue(listener: () => void): void {
    this.due.add(listener);
  }

  /** This broker announced news; for whoever carries them to the others. */
  onAnnounced(listener: () => void): void {
    this.announced.add(listener);
  }

  /** Whoever carries news between brokers tells whether they arrive at this moment. */
  carriedBy(arrive: () => boolean): void {
    this.carrier = arrive;
  }

  /** News of others arrive by themselves, so that looking for them is only the floor. */
  get isCarried(): boolean {
    return this.carrier();
  }

  announce(): void {
    for (const listener of this.announced) listener();
  }

  arrived(): void {
    for (const listener of this.due) listener();
  }
}
