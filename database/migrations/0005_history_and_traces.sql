-- What retention removed, and what applications recorded about their messages.

-- retention_type: retention, completed_retention, max_wait_time_eviction, or a reserved event between double
-- underscores (__partition_deleted__), which charts of removed messages leave out.
create table queen.retention_history (
  id               uuid primary key default gen_random_uuid(),
  partition_id     uuid,
  messages_deleted int default 0,
  retention_type   varchar(50),
  executed_at      timestamptz default now()
);

create index idx_retention_history_partition on queen.retention_history (partition_id);
create index idx_retention_history_executed on queen.retention_history (executed_at);

-- No foreign keys: a trace outlives its message, its partition and its queue.
create table queen.message_traces (
  id             uuid primary key default gen_random_uuid(),
  message_id     uuid,
  partition_id   uuid,
  transaction_id varchar(255) not null,
  consumer_group varchar(255),
  event_type     varchar(100),
  data           jsonb not null,
  created_at     timestamptz default now(),
  worker_id      varchar(255)
);

create index idx_message_traces_message on queen.message_traces (message_id);
create index idx_message_traces_transaction on queen.message_traces (transaction_id, partition_id);
create index idx_message_traces_created on queen.message_traces (created_at desc);
create index idx_message_traces_partition on queen.message_traces (partition_id);

create table queen.message_trace_names (
  trace_id   uuid not null references queen.message_traces (id) on delete cascade,
  trace_name text not null,
  primary key (trace_id, trace_name)
);

create index idx_message_trace_names_name on queen.message_trace_names (trace_name);
