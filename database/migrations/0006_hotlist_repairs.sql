-- Notices of cursors that were moved or removed without a write: seek, group deletion, a new subscription time. Nothing
-- in the log tells other brokers of them, so each broker reads this table now and then and looks at those queues
-- afresh. A notice commits together with the move it announces.
--
-- One row per (queue, group), by name, because that is how brokers keep their rings. No foreign key: its check would
-- take the queue's row lock after cursors, against the lock order, and a notice about a queue that is gone does no harm.
--   partition_name  the only partition concerned; null: any of them
--   repaired_at     changes with every notice; compared for change, never for order
create table queen.hotlist_repairs (
  tenant_id      uuid not null,
  queue_name     text not null,
  consumer_group text not null,
  partition_name text,
  repaired_at    timestamptz not null,
  primary key (tenant_id, queue_name, consumer_group)
);

create index idx_hotlist_repairs_at on queen.hotlist_repairs (repaired_at);
