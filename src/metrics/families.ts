import { AckRegistry } from '../ack-registry/ack-registry.js';
import { AckService } from '../ack/ack.service.js';
import { AckByHash } from '../ack/by-hash.js';
import { AckFlusher } from '../ack/flush/ack-flusher.js';
import { HashAckFlusher } from '../ack/flush/hash-ack-flusher.js';
import { PopMaintenance, PushMaintenance } from '../base/maintenance/maintenance-switch.js';
import { PushSpool } from '../base/spool/push-spool.js';
import { PayloadCipher } from '../encryption/payload-cipher.js';
import { HintsService } from '../hints/hints.service.js';
import { HotlistService } from '../hotlist/hotlist.service.js';
import { LimiterService } from '../limiter/limiter.service.js';
import { ClaimFlusher } from '../pop/flush/claim-flusher.js';
import { FillWindow } from '../pop/fill-window.js';
import { PopMetrics } from '../pop/pop.metrics.js';
import { PutAside } from '../pop/put-aside.js';
import { PushService } from '../push/push.service.js';
import { RawSqlService } from '../raw-sql/raw-sql.service.js';
import { OldestTransaction } from '../retention/oldest-transaction.js';
import { RetentionLoop } from '../retention/retention.loop.js';
import { WakeGateService } from '../wake-gate/wake-gate.service.js';
import {
  dedupFamilies,
  hintFamilies,
  maintenanceFamilies,
  retentionFamilies,
  spoolFamilies,
} from './background-families.js';
import { EventLoop, type EventLoopDelay } from './event-loop.js';
import { byLabel, one, type Family, type Sample } from './family.js';

/** Queues named in queen_parked_long_polls; the rest is summed under `other` (field case A32). */
const TOP_QUEUES = 20;

const RTT_QUANTILES = [0.5, 0.99];

/** What the exposition reads; the providers in the order of the factory's arguments. */
export const familySources = [
  PopMetrics,
  FillWindow,
  ClaimFlusher,
  PutAside,
  PushService,
  AckService,
  AckFlusher,
  HashAckFlusher,
  AckByHash,
  AckRegistry,
  HotlistService,
  WakeGateService,
  LimiterService,
  RawSqlService,
  EventLoop,
  PushSpool,
  PushMaintenance,
  PopMaintenance,
  RetentionLoop,
  PayloadCipher,
  HintsService,
  OldestTransaction,
] as const;

export function metricFamilies(
  pops: PopMetrics,
  fill: FillWindow,
  claims: ClaimFlusher,
  putAside: PutAside,
  pushes: PushService,
  acks: AckService,
  ackFlusher: AckFlusher,
  hashAckFlusher: HashAckFlusher,
  ackByHash: AckByHash,
  registry: AckRegistry,
  hotlist: HotlistService,
  gates: WakeGateService,
  limiter: LimiterService,
  rawSql: RawSqlService,
  loop: EventLoop,
  spool: PushSpool,
  pushMaintenance: PushMaintenance,
  popMaintenance: PopMaintenance,
  retention: RetentionLoop,
  cipher: PayloadCipher,
  hints: HintsService,
  oldest: OldestTransaction,
): Family[] {
  return [
    ...processFamilies(loop),
    ...trafficFamilies(pops, fill, pushes, acks),
    byLabel(
      'queen_pop_put_aside_total',
      'counter',
      'Messages that had used up their deliveries (maxDeliveries), by what became of them.',
      'result',
      () => ({ ...putAside.stats() }),
    ),
    ...batchFamilies(claims, pushes, ackFlusher, hashAckFlusher),
    ...ackFamilies(ackByHash, registry),
    ...hotlistFamilies(hotlist),
    ...gateFamilies(gates),
    ...laneFamilies(limiter),
    ...databaseFamilies(rawSql),
    ...hintFamilies(hints),
    ...dedupFamilies(pushes),
    ...spoolFamilies(spool),
    ...maintenanceFamilies(pushMaintenance, popMaintenance),
    ...retentionFamilies(retention, oldest),
    one(
      'queen_encryption_unreadable_total',
      'counter',
      'Encrypted payloads served as they are stored, for want of their key.',
      () => cipher.failures,
    ),
  ];
}

function processFamilies(loop: EventLoop): Family[] {
  let delay: EventLoopDelay = { avgMs: 0, p99Ms: 0, maxMs: 0 };
  return [
    one('queen_uptime_seconds', 'gauge', 'Seconds since the process started.', () => process.uptime(), 'max'),
    one('queen_process_resident_memory_bytes', 'gauge', 'Resident memory.', () => process.memoryUsage.rss()),
    // The first of the three takes the window that all three show.
    one(
      'queen_event_loop_lag_avg_milliseconds',
      'gauge',
      'Mean delay of the event loop since the last scrape.',
      () => {
        delay = loop.take();
        return delay.avgMs;
      },
      'max',
    ),
    one(
      'queen_event_loop_lag_p99_milliseconds',
      'gauge',
      '99th percentile of the same.',
      () => delay.p99Ms,
      'max',
    ),
    one(
      'queen_event_loop_lag_max_milliseconds',
      'gauge',
      'Longest delay of the same.',
      () => delay.maxMs,
      'max',
    ),
  ];
}

function trafficFamilies(
  pops: PopMetrics,
  fill: FillWindow,
  pushes: PushService,
  acks: AckService,
): Family[] {
  return [
    one(
      'queen_process_push_requests_total',
      'counter',
      'Push requests answered.',
      () => pushes.stats().requests,
    ),
    one(
      'queen_process_push_messages_total',
      'counter',
      'Items of push requests.',
      () => pushes.stats().messages,
    ),
    one(
      'queen_push_duplicates_total',
      'counter',
      'Items found to be duplicates.',
      () => pushes.stats().duplicates,
    ),
    one('queen_push_failed_total', 'counter', 'Items that were not stored.', () => pushes.stats().failed),
    one(
      'queen_push_buffered_bytes',
      'gauge',
      'Bytes of push requests without an answer.',
      () => pushes.stats().bufferedBytes,
    ),
    one('queen_process_pop_requests_total', 'counter', 'Pop requests.', () => pops.stats().requests),
    one('queen_process_pop_messages_total', 'counter', 'Messages delivered.', () => pops.stats().messages),
    {
      name: 'queen_pop_attempts_total',
      type: 'counter',
      help: 'Looks and claims of pops by path and result.',
      labels: ['path', 'result'],
      *samples(): Iterable<Sample> {
        for (const [key, value] of pops.stats().attempts) {
          const [path, result] = key.split(' ') as [string, string];
          yield { labels: { path, result }, value };
        }
      },
    },
    one('queen_pop_targeted_total', 'counter', 'Pops of one named partition that delivered.', () =>
      delivered(pops, 'partition'),
    ),
    one(
      'queen_pop_wildcard_total',
      'counter',
      'Pops across a queue that delivered.',
      () => delivered(pops, 'hotlist') + delivered(pops, 'scan'),
    ),
    one('queen_pop_fill_wait_total', 'counter', 'Pops held to fill their batch.', () => fill.stats().holds),
    one('queen_pop_fill_wait_microseconds_total', 'counter', 'Time they were held.', () =>
      Math.round(fill.stats().heldMs * 1000),
    ),
    one('queen_process_ack_requests_total', 'counter', 'Ack requests answered.', () => acks.stats().requests),
    one('queen_process_ack_messages_total', 'counter', 'Items of ack requests.', () => acks.stats().items),
    one(
      'queen_ack_repeats_total',
      'counter',
      'Acks answered as repeats of one before.',
      () => acks.stats().repeats,
    ),
    one('queen_ack_failures_total', 'counter', 'Ack groups without a verdict.', () => acks.stats().failures),
  ];
}

function batchFamilies(
  claims: ClaimFlusher,
  pushes: PushService,
  ackFlusher: AckFlusher,
  hashAckFlusher: HashAckFlusher,
): Family[] {
  return [
    byLabel('queen_batches_fired_total', 'counter', 'Fused transactions.', 'op', () => ({
      pop: claims.stats().statements,
      push: pushes.stats().flushes,
      ack: ackFlusher.stats().flushes,
      ack_by_hash: hashAckFlusher.stats().flushes,
    })),
    byLabel(
      'queen_batch_items_fired_total',
      'counter',
      'Pops, segments, cursor moves or acks to look up in them.',
      'op',
      () => ({
        pop: claims.stats().jobs,
        push: pushes.stats().flushedPartitions,
        ack: ackFlusher.stats().rows,
        ack_by_hash: hashAckFlusher.stats().rows,
      }),
    ),
    byLabel(
      'queen_fusion_items_per_batch',
      'gauge',
      'Mean of them since the start.',
      'op',
      () => ({
        pop: mean(claims.stats().jobs, claims.stats().statements),
        push: mean(pushes.stats().flushedPartitions, pushes.stats().flushes),
        ack: mean(ackFlusher.stats().rows, ackFlusher.stats().flushes),
        ack_by_hash: mean(hashAckFlusher.stats().rows, hashAckFlusher.stats().flushes),
      }),
      'average',
    ),
    byLabel(
      'queen_batch_waiting',
      'gauge',
      'Pops, partitions, cursors or acks to look up, waiting for the next one.',
      'op',
      () => ({
        pop: claims.stats().waiting,
        push: pushes.stats().partitions,
        ack: ackFlusher.stats().waiting,
        ack_by_hash: hashAckFlusher.stats().waiting,
      }),
    ),
    {
      name: 'queen_batch_rtt_milliseconds',
      type: 'gauge',
      help: 'Round trip of the last 1,024 of them.',
      labels: ['op', 'quantile'],
      across: 'max',
      *samples(): Iterable<Sample> {
        const sources = { pop: claims, push: pushes, ack: ackFlusher, ack_by_hash: hashAckFlusher };
        for (const [op, source] of Object.entries(sources)) {
          for (const q of RTT_QUANTILES)
            yield { labels: { op, quantile: String(q) }, value: source.rttQuantileMs(q) };
        }
      },
    },
    one(
      'queen_pop_claims_abandoned_total',
      'counter',
      'Claims of pops whose client had left by then; leased ones come again when the lease runs out.',
      () => claims.stats().abandoned,
    ),
    one(
      'queen_push_flush_seconds_total',
      'counter',
      'Time push transactions took, summed.',
      () => pushes.stats().rttMs / 1000,
    ),
    one(
      'queen_ack_flush_rejected_total',
      'counter',
      'Cursor moves refused by their lease.',
      () => ackFlusher.stats().rejected,
    ),
  ];
}

function ackFamilies(ackByHash: AckByHash, registry: AckRegistry): Family[] {
  return [
    one(
      'queen_ack_registry_hits_total',
      'counter',
      'Full batches completed by position.',
      () => registry.stats().hits,
    ),
    one(
      'queen_ack_registry_misses_total',
      'counter',
      'Acks that had to be resolved by id.',
      () => registry.stats().misses,
    ),
    one(
      'queen_ack_registry_evicted_total',
      'counter',
      'Leases dropped for want of room.',
      () => registry.stats().evicted,
    ),
    one('queen_ack_registry_entries', 'gauge', 'Leased batches remembered.', () => registry.stats().entries),
    one('queen_ack_registry_bytes', 'gauge', 'Memory they take.', () => registry.stats().bytes),
    byLabel('queen_ack_outcomes_total', 'counter', 'Outcomes of acks resolved by id.', 'outcome', () => {
      const { refused, noops, stale, unresolved, deadLetters, dropped } = ackByHash.stats();
      return { refused, noop: noops, stale, unresolved, dead_letter: deadLetters, dropped };
    }),
    one(
      'queen_ack_capped_total',
      'counter',
      'Lease-less acks beyond the end of their partition.',
      () => ackByHash.stats().capped,
    ),
  ];
}

function hotlistFamilies(hotlist: HotlistService): Family[] {
  const stats = () => hotlist.stats();
  return [
    byLabel('queen_hotlist_verdicts_total', 'counter', 'Verdicts on candidates.', 'verdict', () => ({
      ...stats().verdicts,
    })),
    byLabel('queen_hotlist_promotes_total', 'counter', 'What lease releases did to entries.', 'kind', () => ({
      ...stats().promotes,
    })),
    byLabel('queen_hotlist_entries', 'gauge', 'Entries by state.', 'state', () => ({ ...stats().entries })),
    one('queen_hotlist_rings', 'gauge', 'Rings in memory.', () => stats().rings),
    one('queen_hotlist_partitions', 'gauge', 'Partition names in memory.', () => stats().partitions),
    one(
      'queen_hotlist_oldest_ready_ms',
      'gauge',
      'Age of the entry that is ready the longest.',
      () => stats().oldestReadyMs,
      'max',
    ),
    byLabel('queen_hotlist_ready_source_total', 'counter', 'What made entries ready.', 'source', () => ({
      ...stats().readySources,
    })),
    byLabel('queen_hotlist_marks_total', 'counter', 'Marks by kind.', 'origin', () => ({ ...stats().marks })),
    {
      name: 'queen_hotlist_reseeds_total',
      type: 'counter',
      help: 'Reseed walks by mode and result.',
      labels: ['mode', 'result'],
      *samples(): Iterable<Sample> {
        for (const [mode, results] of Object.entries(stats().reseeds)) {
          for (const [result, value] of Object.entries(results)) yield { labels: { mode, result }, value };
        }
      },
    },
    one(
      'queen_hotlist_full_walk_age_max_ms',
      'gauge',
      'Age of the oldest full walk of a ring.',
      () => stats().fullWalkAgeMaxMs,
      'max',
    ),
    one(
      'queen_hotlist_tickets_expired_total',
      'counter',
      'Check-outs that were lost; must stay 0.',
      () => stats().ticketsExpired,
    ),
    byLabel('queen_hotlist_evictions_total', 'counter', 'Queues that left memory.', 'kind', () => ({
      ...stats().evictions,
    })),
    one(
      'queen_hotlist_ready_age_ms_sum',
      'counter',
      'How long taken entries had been ready, summed.',
      () => stats().readyAge.sumMs,
    ),
    one('queen_hotlist_ready_age_ms_count', 'counter', 'Entries taken.', () => stats().readyAge.count),
  ];
}

function gateFamilies(gates: WakeGateService): Family[] {
  return [
    {
      name: 'queen_parked_long_polls',
      type: 'gauge',
      help: `Parked pops of the ${TOP_QUEUES} queues with most of them, the rest as "other".`,
      labels: ['queue'],
      samples: () => parkedByQueue(gates),
    },
    one('queen_parked_long_polls_all', 'gauge', 'Parked pops.', () => gates.stats(0).parked),
    one('queen_wake_gates', 'gauge', 'Gates in memory.', () => gates.stats(0).gates),
    one('queen_wake_openings_total', 'counter', 'Openings of gates.', () => gates.stats(0).openings),
    one('queen_wake_woken_total', 'counter', 'Parks that ended with a wake.', () => gates.stats(0).woken),
    one(
      'queen_wake_useless_total',
      'counter',
      'Wakes after which nothing was found.',
      () => gates.stats(0).useless,
    ),
  ];
}

function parkedByQueue(gates: WakeGateService): Sample[] {
  const { parked, byQueue } = gates.stats(TOP_QUEUES);
  // Tenants may use the same queue name: their parked pops add up under it.
  const named = new Map<string, number>();
  let other = parked;
  for (const { key, parked: here } of byQueue) {
    const queue = key.slice(key.indexOf('\u001f') + 1);
    named.set(queue, (named.get(queue) ?? 0) + here);
    other -= here;
  }
  const samples = [...named].map(([queue, value]) => ({ labels: { queue }, value }));
  return [...samples, { labels: { queue: 'other' }, value: Math.max(0, other) }];
}

function laneFamilies(limiter: LimiterService): Family[] {
  const perLane = (pick: (lane: ReturnType<LimiterService['stats']>['pop']) => number) => () =>
    Object.fromEntries(Object.entries(limiter.stats()).map(([lane, stats]) => [lane, pick(stats)]));
  return [
    byLabel(
      'queen_lane_limit',
      'gauge',
      'Permits of a lane.',
      'lane',
      perLane((lane) => lane.limit),
    ),
    byLabel(
      'queen_lane_inflight',
      'gauge',
      'Permits given out.',
      'lane',
      perLane((lane) => lane.inFlight),
    ),
    byLabel(
      'queen_lane_waiting',
      'gauge',
      'Requests waiting for a permit.',
      'lane',
      perLane((lane) => lane.waiting),
    ),
    byLabel(
      'queen_lane_wait_ms_sum',
      'counter',
      'Time spent waiting.',
      'lane',
      perLane((lane) => lane.waits.sumMs),
    ),
    byLabel(
      'queen_lane_wait_ms_count',
      'counter',
      'Requests that waited.',
      'lane',
      perLane((lane) => lane.waits.count),
    ),
    byLabel(
      'queen_lane_base_rtt_ms',
      'gauge',
      'Best round trip of the last minute.',
      'lane',
      perLane((lane) => lane.baseRttMs),
      'min',
    ),
    byLabel(
      'queen_lane_rtt_ms',
      'gauge',
      'Smoothed round trip.',
      'lane',
      perLane((lane) => lane.rttMs),
      'average',
    ),
    byLabel(
      'queen_lane_timeouts_total',
      'counter',
      'Statement timeouts.',
      'lane',
      perLane((lane) => lane.timeouts),
    ),
    byLabel(
      'queen_lane_overloads_total',
      'counter',
      'Requests refused.',
      'lane',
      perLane((lane) => lane.overloads),
    ),
    one('queen_seg_push_vegas_limit', 'gauge', 'Permits of the push lane.', () => limiter.stats().push.limit),
    one('queen_seg_pop_vegas_limit', 'gauge', 'Permits of the pop lane.', () => limiter.stats().pop.limit),
  ];
}

function databaseFamilies(rawSql: RawSqlService): Family[] {
  const stats = () => rawSql.stats();
  return [
    one('queen_db_pool_size', 'gauge', 'Connections the pool may open.', () => stats().size),
    one('queen_db_pool_idle', 'gauge', 'Open connections at rest.', () => stats().idle),
    one('queen_db_pool_active', 'gauge', 'Connections in use.', () => stats().total - stats().idle),
    one('queen_db_pool_waiting', 'gauge', 'Requests waiting for a connection.', () => stats().waiting),
    one('queen_db_statements_total', 'counter', 'Statements run.', () => stats().statements),
    one('queen_db_errors_total', 'counter', 'Statements that failed.', () => stats().statementErrors),
    one(
      'queen_db_statement_seconds_total',
      'counter',
      'Time statements took, summed.',
      () => stats().statementMs / 1000,
    ),
    one(
      'queen_connections_quarantined_total',
      'counter',
      'Connections destroyed.',
      () => stats().quarantined,
    ),
  ];
}

function delivered(pops: PopMetrics, path: string): number {
  return pops.stats().attempts.get(`${path} data`) ?? 0;
}

function mean(items: number, batches: number): number {
  return batches === 0 ? 0 : items / batches;
}
