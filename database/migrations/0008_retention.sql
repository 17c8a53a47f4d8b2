-- What retention needs to find its work without looking at every partition, and who does it.

--   oldest_live_at  when the first live segment was written; null while there is none. Set by the push that ends the
--                   emptiness and by retention, so on every other push the value stays and the update heap-only
--   txns_due_at     when the first hash row of a deleted segment may go; null while there is none. Set by retention only
alter table queen.log_partitions
  add column oldest_live_at timestamptz,
  add column txns_due_at timestamptz;

update queen.log_partitions p set
  oldest_live_at = (
    select s.created_at from queen.log_segments s where s.partition_id = p.id order by s.base_offset limit 1),
  txns_due_at = (
    select t.created_at
    from queen.log_txns t
    where t.partition_id = p.id and t.base_offset < p.log_start
    order by t.base_offset
    limit 1);

create index idx_log_partitions_oldest_live on queen.log_partitions (queue_id, oldest_live_at, id)
  where oldest_live_at is not null;
create index idx_log_partitions_txns_due on queen.log_partitions (txns_due_at, id)
  where txns_due_at is not null;
-- Partitions that may be dead. Pushes touch it only when they end an emptiness.
create index idx_log_partitions_empty on queen.log_partitions (last_write_at, id)
  where oldest_live_at is null;

-- The queues that have a rule by which messages go.
create index idx_queues_retention on queen.queues (id)
  where retention_enabled or max_wait_time_seconds > 0;

-- unread_deleted: how many of the messages had not been finished by every group that exists.
-- One row stands for all that a rule removed from a partition within a minute.
alter table queen.retention_history
  alter column messages_deleted type bigint,
  alter column messages_deleted set not null,
  alter column retention_type set not null,
  alter column executed_at set not null,
  add column unread_deleted bigint not null default 0;

drop index queen.idx_retention_history_partition;
create index idx_retention_history_partition on queen.retention_history (partition_id, executed_at);

-- Work that one broker at a time does, for as long as it renews. The clock is the database's: a holder that hangs, dies
-- or sits behind a pooler loses its lease by time, and nothing has to be unlocked.
create table queen.leader_leases (
  name       text primary key,
  holder     text not null,
  expires_at timestamptz not null
) with (fillfactor = 50);
