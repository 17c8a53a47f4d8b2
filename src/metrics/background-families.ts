import type { PopMaintenance, PushMaintenance } from '../base/maintenance/maintenance-switch.js';
import type { PushSpool } from '../base/spool/push-spool.js';
import type { HintsService } from '../hints/hints.service.js';
import type { PushService } from '../push/push.service.js';
import type { OldestTransaction } from '../retention/oldest-transaction.js';
import type { RetentionLoop } from '../retention/retention.loop.js';
import { byLabel, one, type Family } from './family.js';

/** Messages on disk (names as in the original broker, and those of the serve path's own list). */
export function spoolFamilies(spool: PushSpool): Family[] {
  const stats = () => spool.stats();
  const dbHealthy = () => (stats().dbHealthy ? 1 : 0);
  return [
    one('queen_file_buffer_pending', 'gauge', 'Messages waiting on disk.', () => stats().pending),
    one('queen_file_buffer_failed', 'gauge', 'Messages on disk that were set aside.', () => stats().failed),
    one('queen_file_buffer_db_healthy', 'gauge', '0 while pushes go to disk.', dbHealthy, 'min'),
    one('queen_spool_files', 'gauge', 'Files of messages waiting.', () => stats().files),
    one('queen_spool_bytes', 'gauge', 'Disk space of the spool.', () => stats().bytes),
    one(
      'queen_spool_oldest_age_seconds',
      'gauge',
      'Age of the oldest message waiting; beyond a dedup window its replay may repeat messages.',
      () => (stats().oldestAgeMs ?? 0) / 1000,
      'max',
    ),
    one('queen_spool_written_total', 'counter', 'Messages written to disk.', () => stats().written),
    one('queen_spool_replayed_total', 'counter', 'Messages stored from disk.', () => stats().replayed),
    one(
      'queen_spool_failed_total',
      'counter',
      'Messages that could not be written to disk.',
      () => stats().writeFailures,
    ),
    one(
      'queen_spool_quarantined_files',
      'gauge',
      'Files of messages that were set aside.',
      () => stats().failedFiles,
    ),
  ];
}

export function maintenanceFamilies(push: PushMaintenance, pop: PopMaintenance): Family[] {
  return [
    one(
      'queen_maintenance_mode_enabled',
      'gauge',
      '1 during push maintenance.',
      () => (push.isOn ? 1 : 0),
      'max',
    ),
    one(
      'queen_pop_maintenance_enabled',
      'gauge',
      '1 during pop maintenance.',
      () => (pop.isOn ? 1 : 0),
      'max',
    ),
  ];
}

export function retentionFamilies(retention: RetentionLoop, oldest: OldestTransaction): Family[] {
  const stats = () => retention.stats();
  return [
    one(
      'queen_retention_leader',
      'gauge',
      '1 on the broker that sweeps.',
      () => (stats().isLeader ? 1 : 0),
      'max',
    ),
    one('queen_retention_sweeps_total', 'counter', 'Sweeps made here.', () => stats().sweeps),
    one(
      'queen_retention_age_seconds',
      'gauge',
      'Since a sweep went well, or was left to another broker.',
      () => stats().ageMs / 1000,
      'max',
    ),
    one(
      'queen_retention_unread_messages_total',
      'counter',
      'Messages deleted by a rule before every existing group had read them.',
      () => stats().unreadMessages,
    ),
    one(
      'queen_retention_failed_steps_total',
      'counter',
      'Steps given up until the next sweep.',
      () => stats().failures,
    ),
    one(
      'queen_database_oldest_transaction_seconds',
      'gauge',
      'Age of the transaction that holds back vacuum the longest; 0: none does. The log names it after a minute.',
      () => oldest.ageMs / 1000,
      'max',
    ),
    byLabel('queen_retention_deleted_total', 'counter', 'What was deleted here, by kind.', 'kind', () => {
      const { segments, messages, hashRows, partitions, historyRows } = stats();
      return { segments, messages, hash_rows: hashRows, partitions, history_rows: historyRows };
    }),
  ];
}

/** Hints between brokers; losing one costs latency only, so drops are counted and not alarming by themselves. */
export function hintFamilies(hints: HintsService): Family[] {
  const stats = () => hints.stats();
  return [
    byLabel('queen_hints_total', 'counter', 'Hints by direction.', 'direction', () => ({
      sent: stats().sent,
      received: stats().received,
    })),
    one('queen_hints_dropped_total', 'counter', 'Hints that could not be sent.', () => stats().dropped),
    one('queen_hint_reconnects_total', 'counter', 'Times listening began anew.', () => stats().reconnects),
    one(
      'queen_hint_bus_connected',
      'gauge',
      '0 while hints neither leave nor arrive.',
      () => (stats().isConnected ? 1 : 0),
      'min',
    ),
    one(
      'queen_hint_peers',
      'gauge',
      '1 while another broker is believed to listen.',
      () => (stats().hasPeers ? 1 : 0),
      'min',
    ),
  ];
}

/** The in-memory index that spares PostgreSQL the look at the whole dedup window. */
export function dedupFamilies(pushes: PushService): Family[] {
  const stats = () => pushes.stats().dedup;
  return [
    byLabel('queen_dedup_segments_total', 'counter', 'Segments with ids of clients.', 'promise', () => ({
      vouched: stats().vouched,
      unvouched: stats().unvouched,
      put_aside: stats().putAside,
    })),
    byLabel('queen_dedup_reads_total', 'counter', 'Partitions read into the index.', 'kind', () => ({
      rebuilt: stats().rebuilt,
      caught_up: stats().caughtUp,
    })),
    one('queen_dedup_evicted_total', 'counter', 'Partitions that left the index.', () => stats().evicted),
    one('queen_dedup_partitions', 'gauge', 'Partitions in the index.', () => stats().partitions),
    one('queen_dedup_bytes', 'gauge', 'Memory it takes.', () => stats().bytes),
  ];
}
