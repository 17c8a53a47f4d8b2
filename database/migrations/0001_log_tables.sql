-- The log itself: queues, partitions, segments, the transaction-id sidecar, and the cursors of groups.
--
-- Two kinds of table live here. Segments and hash rows are written once and deleted in ranges; partitions and
-- cursors are few rows updated on every message batch, so nothing that changes there may be indexed (with one
-- bounded exception, last_write_at), their pages keep room for a next version, and autovacuum is driven by a count
-- of dead rows, because dead rows outnumber live ones by orders of magnitude.

-- Identity and settings of a queue. Cold: read by every message path, written by none.
create table queen.queues (
  id                          uuid primary key default gen_random_uuid(),
  tenant_id                   uuid not null default '00000000-0000-0000-0000-000000000001',
  name                        varchar(255) not null,
  namespace                   varchar(255),
  task                        varchar(255),
  priority                    int default 0,
  -- 60 is what a queue gets that nobody configured; configuring a new queue writes 300 unless told otherwise.
  lease_time                  int default 60,
  retry_limit                 int default 3,
  -- 0 means off for the four limits that do not act yet (priority, retry_delay, ttl, max_queue_size):
  -- configure refuses any other value, so that no setting is ever stored and then ignored.
  retry_delay                 int default 0,
  ttl                         int default 0,
  dead_letter_queue           boolean default true,
  dlq_after_max_retries       boolean default true,
  delayed_processing          int default 0,
  window_buffer               int default 0,
  retention_seconds           int default 0,
  completed_retention_seconds int default 0,
  retention_enabled           boolean default false,
  encryption_enabled          boolean default false,
  max_wait_time_seconds       int default 0,
  max_queue_size              int default 0,
  min_pop_wait_time           int default 0,
  dedup_window_seconds        int not null default 3600,
  created_at                  timestamptz default now(),
  constraint queues_tenant_name_uk unique (tenant_id, name)
);

create index idx_queues_name on queen.queues (name);

-- One row per partition: the allocator of offsets, and by its row lock the serializer of writers.
--   last_offset    highest reserved offset; the next segment starts one above
--   log_start      every offset below is deleted
--   txns_start     every hash row below is purged
--   last_write_at  lags the last write by up to a second: it is indexed, and moving it on every push would make
--                  every push a non-HOT update
-- Truncation by vacuum is off: it takes the table exclusively and would stop every push and pop for its duration.
create table queen.log_partitions (
  id            uuid primary key default gen_random_uuid(),
  queue_id      uuid not null references queen.queues (id) on delete cascade,
  name          text not null default 'Default',
  last_offset   bigint not null default -1,
  log_start     bigint not null default 0,
  txns_start    bigint not null default 0,
  last_write_at timestamptz not null default now(),
  created_at    timestamptz not null default now(),
  constraint log_partitions_queue_name_uk unique (queue_id, name)
) with (
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 500,
  autovacuum_vacuum_cost_delay = 0,
  vacuum_truncate = off
);

-- For scans by last write. The condition always holds; it keeps this index away from look-ups by name, which on a table
-- without statistics look equally cheap through it and then read all partitions of the queue. A scan must compare
-- last_write_at with something to use it.
create index idx_log_partitions_queue_write on queen.log_partitions (queue_id, last_write_at)
  where last_write_at is not null;

-- The messages: one row holds the compressed frames of many. Offsets base_offset .. end_offset, frame k of the blob
-- is offset base_offset + k. The primary key is the only index: pop, retention and lookup all walk it.
-- created_at is stamped under the partition's row lock, so it never decreases along base_offset; every time-based
-- walk relies on that.
create table queen.log_segments (
  partition_id uuid not null references queen.log_partitions (id) on delete cascade,
  base_offset  bigint not null,
  end_offset   bigint not null,
  created_at   timestamptz not null,
  blob         bytea not null,
  primary key (partition_id, base_offset)
) with (
  autovacuum_vacuum_scale_factor = 0.1,
  autovacuum_vacuum_insert_scale_factor = 0.3,
  autovacuum_vacuum_cost_limit = 4000,
  autovacuum_vacuum_cost_delay = 0,
  toast.autovacuum_vacuum_scale_factor = 0.1,
  toast.autovacuum_vacuum_insert_scale_factor = 0.3,
  toast.autovacuum_vacuum_cost_limit = 4000,
  toast.autovacuum_vacuum_cost_delay = 0
);

-- The bytes are compressed already; letting TOAST try again costs time on every push and gains nothing.
alter table queen.log_segments alter column blob set storage external;

-- Which transaction ids a segment holds: one row per segment, 16 bytes per frame in frame order. Acks find offsets
-- through it and pushes find duplicates. Same range and created_at as the segment.
-- No foreign key, so that purging it fires no trigger; whoever deletes a partition deletes these rows itself.
create table queen.log_txns (
  partition_id uuid not null,
  base_offset  bigint not null,
  end_offset   bigint not null,
  created_at   timestamptz not null,
  hashes       bytea not null,
  primary key (partition_id, base_offset)
) with (
  autovacuum_vacuum_scale_factor = 0.1,
  autovacuum_vacuum_insert_scale_factor = 0.3,
  autovacuum_vacuum_cost_delay = 0
);

-- Hashes do not compress.
alter table queen.log_txns alter column hashes set storage external;

-- One row per (partition, group): the cursor, at most one lease, and the retry state.
--   committed          highest finished offset; finishing N finishes everything below
--   batch_end          last offset of the leased batch; the lease spans (committed, batch_end]
--   worker_id          the lease's owner, the leaseId a client sees
--   batch_retry_count  failed acks charged to the batch at the head; never charged by expiry
--   attempt_offset     first offset of the batch last leased
--   attempt_end        highest offset handed out since the attempt fields were last cleared. A batch that starts at
--                      or below it has been delivered before, also when a partial ack moved its start: it counts as
--                      another attempt, a batch above it starts at 1
--   attempt_count      how often the current batch has been handed out; shown to clients, spends no retry budget
-- A row is leased while worker_id and lease_expires_at are set and lease_expires_at >= now; an expired lease keeps
-- its fields until someone overwrites or clears them. Whoever moves a cursor backwards must clear the lease and all
-- attempt fields, attempt_end included.
-- Nothing that is ever updated here is indexed (an index on worker_id would end HOT updates of every pop and ack).
create table queen.log_consumers (
  partition_id      uuid not null references queen.log_partitions (id) on delete cascade,
  consumer_group    text not null default '__QUEUE_MODE__',
  committed         bigint not null default -1,
  batch_end         bigint,
  worker_id         text,
  lease_expires_at  timestamptz,
  lease_acquired_at timestamptz,
  batch_retry_count int not null default 0,
  attempt_offset    bigint,
  attempt_end       bigint,
  attempt_count     int not null default 0,
  total_consumed    bigint not null default 0,
  created_at        timestamptz not null default now(),
  primary key (partition_id, consumer_group)
) with (
  fillfactor = 50,
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 500,
  autovacuum_vacuum_cost_delay = 0,
  vacuum_truncate = off
);
