import { expect, it } from '@jest/globals';
import { familySources, metricFamilies } from './families.js';

it('all counters of several processes are summed, and of gauges at least these are not', () => {
  // Nothing is read before a scrape, so the families can be looked at without their sources.
  const sources = familySources.map(() => ({})) as unknown as Parameters<typeof metricFamilies>;
  const families = metricFamilies(...sources);
  const others = families.filter(({ across = 'sum' }) => across !== 'sum');
  expect(others.filter(({ type }) => type !== 'gauge')).toEqual([]);
  expect(Object.fromEntries(others.map(({ name, across }) => [name, across]))).toMatchObject({
    queen_uptime_seconds: 'max',
    queen_event_loop_lag_avg_milliseconds: 'max',
    queen_event_loop_lag_p99_milliseconds: 'max',
    queen_event_loop_lag_max_milliseconds: 'max',
    queen_fusion_items_per_batch: 'average',
    queen_hotlist_oldest_ready_ms: 'max',
    queen_hotlist_full_walk_age_max_ms: 'max',
    queen_lane_base_rtt_ms: 'min',
    queen_lane_rtt_ms: 'average',
    queen_file_buffer_db_healthy: 'min',
    queen_spool_oldest_age_seconds: 'max',
    queen_maintenance_mode_enabled: 'max',
    queen_pop_maintenance_enabled: 'max',
    queen_retention_leader: 'max',
    queen_retention_age_seconds: 'max',
    queen_hint_bus_connected: 'min',
    queen_hint_peers: 'min',
  });
});
