import { Inject, Injectable } from '@nestjs/common';
import { Counter, Gauge, Registry } from 'prom-client';
import type { FamilyValues } from '../base/worker-group/worker-group.js';
import type { Family } from './family.js';

export const METRIC_FAMILIES = Symbol('MetricFamilies');

/**
 * The families as prom-client writes them. Counters are set from the totals that services keep themselves, so that the
 * hot paths touch a plain number and no label map.
 */
@Injectable()
export class PrometheusExposition {
  private readonly registry = new Registry();

  constructor(@Inject(METRIC_FAMILIES) families: readonly Family[]) {
    for (const family of families) this.register(family);
  }

  get contentType(): string {
    return this.registry.contentType;
  }

  get names(): string[] {
    return this.registry.getMetricsAsArray().map(({ name }) => name);
  }

  render(): Promise<string> {
    return this.registry.metrics();
  }

  /** The same values, to be joined with those of other processes. */
  values(): Promise<FamilyValues> {
    return this.registry.getMetricsAsJSON();
  }

  private register(family: Family): void {
    const { name, help, across: aggregator = 'sum' } = family;
    const common = {
      name,
      help,
      aggregator,
      labelNames: [...(family.labels ?? [])],
      registers: [this.registry],
    };
    if (family.type === 'gauge') {
      new Gauge({
        ...common,
        collect() {
          this.reset();
          for (const { labels = {}, value } of family.samples()) this.set(labels, value);
        },
      });
      return;
    }
    new Counter({
      ...common,
      collect() {
        this.reset();
        for (const { labels = {}, value } of family.samples()) this.inc(labels, value);
      },
    });
  }
}
