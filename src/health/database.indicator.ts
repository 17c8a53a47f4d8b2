import { Injectable } from '@nestjs/common';
import { HealthIndicatorService, type HealthIndicatorResult } from '@nestjs/terminus';
import { DatabaseWatch } from './database-watch.js';

/** The cached verdict on PostgreSQL as terminus wants it. */
@Injectable()
export class DatabaseIndicator {
  constructor(
    private readonly indicators: HealthIndicatorService,
    private readonly watch: DatabaseWatch,
  ) {}

  check(): HealthIndicatorResult {
    const indicator = this.indicators.check('database');
    const verdict = this.watch.current;
    return verdict === 'writable' ? indicator.up() : indicator.down({ verdict });
  }
}
