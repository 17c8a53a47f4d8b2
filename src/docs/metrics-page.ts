import { familySources, metricFamilies } from '../metrics/families.js';
import type { Family } from '../metrics/family.js';

/** What a broker is scraped for: names, types and labels. Values are read by a scrape, which these never see. */
export function documentedFamilies(): Family[] {
  const sources = familySources.map(() => null) as unknown as Parameters<typeof metricFamilies>;
  return metricFamilies(...sources);
}

/** docs/metrics.md, from the families that the broker is scraped for. */
export function metricsPage(): string {
  return [
    '# Metrics',
    '',
    '`GET /metrics/prometheus`. No label grows with partitions, groups or paths; queues are named in',
    '`queen_parked_long_polls` only, the twenty with most of them and the rest as `other`. A scrape reads memory and never the',
    'database. Counters start at 0 with the process. [docker/grafana](../docker/grafana) has a dashboard and alert rules.',
    '',
    '| Name | Type | Labels | What it says |',
    '| --- | --- | --- | --- |',
    ...documentedFamilies().map(row),
    '',
    'This page is written by `npm run docs` from `src/metrics`.',
    '',
  ].join('\n');
}

function row({ name, type, labels = [], help }: Family): string {
  return `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(', ')} | ${help} |`;
}
