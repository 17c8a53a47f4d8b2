import { PrometheusRule } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PrometheusRule';
import { describe, expect, it } from '@jest/globals';
import { settings } from '../../src/base/config/settings.js';
import { documentedFamilies } from '../../src/docs/metrics-page.js';
import { dockerFile, yamlOf } from './manifests.js';
import { promqlUse } from './promql.js';

/**
 * A dashboard with a metric that is gone shows nothing, and an alert never fires: both look like good news. The families
 * are those that a running broker shows (test/e2e/metric-families).
 */

interface Panel {
  title: string;
  type: string;
  description?: string;
  gridPos: { x: number; y: number; w: number; h: number };
  targets?: { expr: string; legendFormat: string }[];
}

interface Dashboard {
  title: string;
  templating: { list: { name: string; query: string }[] };
  panels: Panel[];
}

interface Rule {
  alert: string;
  expr: string;
  for?: string;
  labels: { severity: string };
  annotations: { summary: string; runbook: string };
}

const families = new Map(documentedFamilies().map((family) => [family.name, family]));
const dashboard = JSON.parse(dockerFile('grafana/dashboard.json')) as Dashboard;
const [{ groups }] = yamlOf<{ groups: { name: string; rules: Rule[] }[] }>('grafana/alerts.yaml');
const rules = groups.flatMap((group) => group.rules);

/** What Prometheus adds by itself. */
const OF_PROMETHEUS = { metrics: ['up'], labels: ['job', 'instance'] };

const queries = [
  ...dashboard.panels.flatMap(({ title, targets = [] }) =>
    // Grafana fills these in before Prometheus sees the query.
    targets.map(({ expr }) => [title, expr.replaceAll('$__rate_interval', '5m')] as const),
  ),
  ...rules.map(({ alert, expr }) => [alert, expr] as const),
];

describe('every query of the dashboard and the alerts', () => {
  it.each(queries)('%s: %s', (_, query) => {
    const { metrics, labels, rated } = promqlUse(query);
    expect(metrics.length).toBeGreaterThan(0);
    expect(metrics.filter((name) => !families.has(name) && !OF_PROMETHEUS.metrics.includes(name))).toEqual(
      [],
    );
    const known = [...OF_PROMETHEUS.labels, ...metrics.flatMap((name) => families.get(name)?.labels ?? [])];
    expect(labels.filter((label) => !known.includes(label))).toEqual([]);
    // A rate of a gauge, and a counter without one, are numbers that mean nothing.
    const counters = metrics.filter((name) => families.get(name)?.type === 'counter');
    expect([...new Set(rated)].sort()).toEqual([...new Set(counters)].sort());
  });

  it('would be found out if it were wrong', () => {
    expect(() => promqlUse('sum by (lane (rate(queen_lane_timeouts_total[5m])')).toThrow(/no PromQL/);
    expect(promqlUse('sum by (lane) (rate(a_total{op="x"}[5m])) / b')).toEqual({
      metrics: ['a_total', 'b'],
      labels: ['lane', 'op'],
      functions: ['sum', 'rate'],
      rated: ['a_total'],
    });
  });
});

describe('the dashboard', () => {
  it('has a description on each panel, and none over another', () => {
    const panels = dashboard.panels.filter(({ type }) => type !== 'row');
    expect(panels.length).toBeGreaterThan(20);
    expect(panels.filter(({ description }) => !description?.endsWith('.')).map(({ title }) => title)).toEqual(
      [],
    );
    const cells = new Map<string, string>();
    for (const { title, gridPos } of dashboard.panels) {
      expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect({ title, over: cells.get(`${x},${y}`) }).toEqual({ title, over: undefined });
          cells.set(`${x},${y}`, title);
        }
      }
    }
  });

  it('uses no variable that it does not have', () => {
    const names = dashboard.templating.list.map(({ name }) => name);
    const used = [...JSON.stringify(dashboard).matchAll(/\$\{?([a-z]\w*)\}?/g)].map(([, name]) => name);
    expect([...new Set(used)].filter((name) => !names.includes(name))).toEqual([]);
  });

  it('asks for variables by metrics that exist', () => {
    const queried = dashboard.templating.list.flatMap(
      ({ query }) => /label_values\((\w+)/.exec(query)?.[1] ?? [],
    );
    expect(queried.length).toBe(2);
    for (const name of queried) expect(families.has(name)).toBe(true);
  });

  it('labels its lines by labels that are there', () => {
    for (const { targets = [] } of dashboard.panels) {
      for (const { expr, legendFormat } of targets) {
        const wanted = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label);
        const { metrics, labels } = promqlUse(expr.replaceAll('$__rate_interval', '5m'));
        const given = [...labels, ...metrics.flatMap((name) => families.get(name)?.labels ?? [])];
        expect(wanted.filter((label) => !given.includes(label))).toEqual([]);
      }
    }
  });
});

describe('the alerts', () => {
  it('are what the Prometheus operator takes as a PrometheusRule', () => {
    const rule = new PrometheusRule({ metadata: { name: 'queen-nest' }, spec: { groups } as never });
    expect(() => rule.validate()).not.toThrow();
  });

  it('have names of their own, say what happened and what to do first', () => {
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
    for (const { alert, labels, annotations } of rules) {
      expect(alert).toMatch(/^Queen[A-Z]\w+$/);
      expect(['critical', 'warning', 'info']).toContain(labels.severity);
      expect(annotations).toEqual({
        summary: expect.stringMatching(/^.{10,}$/),
        runbook: expect.stringMatching(/\.$/),
      });
    }
  });

  it('cover what the serve path wants to be watched (serve-path 8.3)', () => {
    const watched = new Set(rules.flatMap(({ expr }) => promqlUse(expr).metrics));
    const wanted = [
      ...[
        'queen_hotlist_tickets_expired_total',
        'queen_hotlist_full_walk_age_max_ms',
        'queen_db_pool_waiting',
      ],
      ...[
        'queen_connections_quarantined_total',
        'queen_file_buffer_pending',
        'queen_event_loop_lag_p99_milliseconds',
      ],
    ];
    expect(wanted.filter((name) => !watched.has(name))).toEqual([]);
  });

  it('name only settings that exist', () => {
    const named = rules.flatMap(({ annotations }) =>
      [...`${annotations.summary} ${annotations.runbook}`.matchAll(/\b(?:QUEEN|DB|FILE|PG)_[A-Z_]+\b/g)].map(
        ([name]) => name,
      ),
    );
    expect(named.length).toBeGreaterThan(4);
    expect(named.filter((name) => !(name in settings))).toEqual([]);
  });
});
