import { Injectable } from '@nestjs/common';
import { HealthIndicatorService, type HealthIndicatorResult } from '@nestjs/terminus';

/** Says "not ready" from the first moment of a shutdown. */
@Injectable()
export class DrainingIndicator {
  private begun = false;

  constructor(private readonly indicators: HealthIndicatorService) {}

  get isDraining(): boolean {
    return this.begun;
  }

  begin(): void {
    this.begun = true;
  }

  check(): HealthIndicatorResult {
    const indicator = this.indicators.check('draining');
    return this.begun ? indicator.down({ message: 'this broker is shutting down' }) : indicator.up();
  }
}
