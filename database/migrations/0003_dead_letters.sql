-- Messages a group gave up on: a copy, so that it outlives the segment. One poison message in two groups is two rows.
-- No foreign key: deleting a queue removes them explicitly, and nothing else does on its own.
--
-- payload is text and not jsonb: it must come back byte for byte (key order, number spelling, duplicate keys), and
-- jsonb refuses legal JSON such as an escaped NUL, which would make that message impossible to put aside.
create table queen.log_dlq (
  id             uuid primary key default gen_random_uuid(),
  partition_id   uuid not null,
  consumer_group text not null,
  "offset"       bigint not null,
  message_id     uuid,
  transaction_id text,
  payload        text,
  error          text,
  retry_count    int default 0,
  failed_at      timestamptz not null default now()
);

create index idx_log_dlq_partition_failed_at on queen.log_dlq (partition_id, failed_at desc);
