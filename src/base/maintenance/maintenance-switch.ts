import { Injectable } from '@nestjs/common';

/** A switch in memory. What it shall be stands in the database; src/maintenance reads it there and sets this. */
class Switch {
  private on = false;

  get isOn(): boolean {
    return this.on;
  }

  set(on: boolean): void {
    this.on = on;
  }
}

/** Makes every pop answer 204 before any work. */
@Injectable()
export class PopMaintenance extends Switch {}

/** Sends every push to the spool, and keeps what is there. */
@Injectable()
export class PushMaintenance extends Switch {}
