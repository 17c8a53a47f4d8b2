import { Injectable } from '@nestjs/common';

/** The switch that makes every pop answer 204 before any work. */
@Injectable()
export class PopMaintenance {
  private on = false;

  get isOn(): boolean {
    return this.on;
  }

  set(on: boolean): void {
    this.on = on;
  }
}
