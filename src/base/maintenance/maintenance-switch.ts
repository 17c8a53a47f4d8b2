import { Injectable } from '@nestjs/common';

/** A switch in memory. What it shall be stands in the database; src/maintenance reads it there and sets this. */
class Switch {
  private on = false;
  private known = false;

  get isOn(): boolean {
    return this.on;
  }

  /** False until it was set for the first time: what must not happen in maintenance waits for that. */
  get isKnown(): boolean {
    return this.known;
  }

  set(on: boolean): void {
    this.on = on;
    this.known = true;
  }
}

/** Makes every pop answer 204 before any work. */
@Injectable()
export class PopMaintenance extends Switch {}

/** Sends every push to the spool, and keeps what is there. */
@Injectable()
export class PushMaintenance extends Switch {}
