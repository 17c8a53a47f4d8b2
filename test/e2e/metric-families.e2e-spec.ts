import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { acksFor, queuePath, startBroker, type TestBroker } from '../support/broker.js';
import { type ScrapedFamily, scrapeFamilies } from '../support/scrape.js';

/**
 * The families that dashboards of the original broker are made of (http-api 4.8), with their labels. Each is here, or
 * docs/differences.md says why not.
 */
const ORIGINAL: Record<string, readonly string[]> = {
  queen_uptime_seconds: [],
  queen_process_resident_memory_bytes: [],
  queen_process_push_requests_total: [],
  queen_process_push_messages_total: [],
  queen_process_pop_requests_total: [],
  queen_process_pop_messages_total: [],
  queen_process_ack_requests_total: [],
  queen_process_ack_messages_total: [],
  queen_pop_targeted_total: [],
  queen_pop_wildcard_total: [],
  queen_pop_fill_wait_total: [],
  queen_pop_fill_wait_microseconds_total: [],
  queen_parked_long_polls: ['queue'],
  queen_event_loop_lag_avg_milliseconds: [],
  queen_batches_fired_total: ['op'],
  queen_batch_items_fired_total: ['op'],
  queen_fusion_items_per_batch: ['op'],
  queen_batch_rtt_milliseconds: ['op', 'quantile'],
  queen_seg_push_vegas_limit: [],
  queen_seg_pop_vegas_limit: [],
  queen_db_pool_size: [],
  queen_db_pool_idle: [],
  queen_db_pool_active: [],
  queen_maintenance_mode_enabled: [],
  queen_file_buffer_pending: [],
  queen_file_buffer_failed: [],
  queen_file_buffer_db_healthy: [],
};

/** Read from the database there, at every scrape of every broker. */
const FROM_THE_DATABASE = ['queen_cluster_', 'queen_queue_', 'queen_dlq_'];

/** What the serve path shows of itself (serve-path 8.1), under the names it has here. */
const SERVE_PATH: Record<string, readonly string[]> = {
  queen_event_loop_lag_p99_milliseconds: [],
  queen_event_loop_lag_max_milliseconds: [],
  queen_pop_attempts_total: ['path', 'result'],
  queen_hotlist_verdicts_total: ['verdict'],
  queen_hotlist_promotes_total: ['kind'],
  queen_hotlist_entries: ['state'],
  queen_hotlist_rings: [],
  queen_hotlist_oldest_ready_ms: [],
  queen_hotlist_ready_age_ms_sum: [],
  queen_hotlist_ready_age_ms_count: [],
  queen_hotlist_ready_source_total: ['source'],
  queen_hotlist_marks_total: ['origin'],
  queen_hotlist_reseeds_total: ['mode', 'result'],
  queen_hotlist_full_walk_age_max_ms: [],
  queen_hotlist_tickets_expired_total: [],
  queen_hotlist_evictions_total: ['kind'],
  queen_wake_openings_total: [],
  queen_wake_woken_total: [],
  queen_wake_useless_total: [],
  queen_lane_limit: ['lane'],
  queen_lane_inflight: ['lane'],
  queen_lane_waiting: ['lane'],
  queen_lane_wait_ms_sum: ['lane'],
  queen_lane_wait_ms_count: ['lane'],
  queen_lane_base_rtt_ms: ['lane'],
  queen_lane_rtt_ms: ['lane'],
  queen_lane_timeouts_total: ['lane'],
  queen_db_pool_waiting: [],
  queen_connections_quarantined_total: [],
  queen_db_errors_total: [],
  queen_ack_registry_hits_total: [],
  queen_ack_registry_misses_total: [],
  queen_ack_registry_evicted_total: [],
  queen_ack_registry_entries: [],
  queen_ack_registry_bytes: [],
  queen_spool_failed_total: [],
  queen_spool_files: [],
  queen_spool_quarantined_files: [],
  queen_hints_total: ['direction'],
  queen_hints_dropped_total: [],
  queen_hint_peers: [],
};

const QUEUES_NAMED = 20;

describe('the families of /metrics/prometheus', () => {
  let broker: TestBroker;
  let families: Map<string, ScrapedFamily>;

  beforeAll(async () => {
    broker = await startBroker();
    await broker.push([{ queue: 'q', payload: 1 }]);
    const popped = await broker.pop(queuePath('q'), { consumerGroup: 'g' });
    await broker.ackBatch(acksFor(popped.body.messages));
    families = await scrapeFamilies(broker.base);
  });
  afterAll(() => broker.stop());

  it.each(Object.entries({ ...ORIGINAL, ...SERVE_PATH }))('hold %s with its labels', (name, labels) => {
    const family = families.get(name);
    expect(family).toMatchObject({ help: expect.stringMatching(/./) });
    expect(family?.type).toBe(name.endsWith('_total') || /_(sum|count)$/.test(name) ? 'counter' : 'gauge');
    for (const series of family?.series ?? []) expect(Object.keys(series.labels)).toEqual(labels);
  });

  it('that are read from the database are left out, and the page of differences says so', () => {
    const here = [...families.keys()].filter((name) =>
      FROM_THE_DATABASE.some((start) => name.startsWith(start)),
    );
    expect(here).toEqual([]);
    const page = readFileSync(new URL('../../docs/differences.md', import.meta.url), 'utf8');
    for (const start of FROM_THE_DATABASE) expect(page).toContain(`\`${start}*\``);
  });

  it('are those of docs/metrics.md, name by name', () => {
    const page = readFileSync(new URL('../../docs/metrics.md', import.meta.url), 'utf8');
    const documented = [...page.matchAll(/^\| `(queen_\w+)` \|/gm)].map(([, name]) => name);
    expect([...families.keys()].sort()).toEqual(documented.sort());
  });

  it('show how long the transactions took that were sent', () => {
    const rtts = families.get('queen_batch_rtt_milliseconds')!.series;
    for (const op of ['push', 'ack']) {
      const sent = rtts.filter(({ labels }) => labels.op === op);
      expect(sent.map(({ labels }) => labels.quantile)).toEqual(['0.5', '0.99']);
      for (const { value } of sent) expect(value).toBeGreaterThan(0);
    }
  });

  it('have a number of series that neither names nor paths make larger', async () => {
    const names = Array.from({ length: 60 }, (_, i) => `many"${i}\\\n☃`);
    await broker.push(names.map((queue) => ({ queue, partition: `p ${queue}`, payload: 1 })));
    for (const queue of names) await broker.pop(queuePath(queue), { consumerGroup: `group ${queue}` });
    for (let i = 0; i < 20; i++) await broker.get(`/no/such/path/${i}`);
    const after = await scrapeFamilies(broker.base);
    const grown = [...after].flatMap(([name, { series }]) =>
      series.length > (families.get(name)?.series.length ?? 0) ? [`${name}: ${series.length}`] : [],
    );
    // Paths and results of pops that had not happened before; a fixed set.
    expect(grown.filter((one) => !one.startsWith('queen_pop_attempts_total'))).toEqual([]);
    expect(after.get('queen_parked_long_polls')!.series.length).toBeLessThanOrEqual(QUEUES_NAMED + 1);
    const values = [...after.values()].flatMap(({ series }) =>
      series.flatMap(({ labels }) => Object.values(labels)),
    );
    expect(values.filter((value) => /many|group |no\/such/.test(value))).toEqual([]);
  });
});
