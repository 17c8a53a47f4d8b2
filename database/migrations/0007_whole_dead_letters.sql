-- Dead letters keep all that their message had, so that a replay gives back the same message; and traces lose the
-- limits that made some of them impossible to record.

-- encrypted: the payload is an envelope, as it was in the segment. It stays one here and moves back as one.
alter table queen.log_dlq
  add column headers text,
  add column trace_id uuid,
  add column producer_sub text,
  add column encrypted boolean not null default false;

-- The list over all partitions, newest first, and bulk work from the oldest on.
create index idx_log_dlq_failed_at on queen.log_dlq (failed_at, id);
-- Whether one message is among the dead letters.
create index idx_log_dlq_partition_offset on queen.log_dlq (partition_id, "offset");

-- data is text for the reason that dead letters' payloads are: what was recorded comes back byte for byte, and jsonb
-- refuses some of it. A transactionId may be longer than an index entry can be, so only its head is indexed.
alter table queen.message_traces
  alter column data type text using data::text,
  alter column transaction_id type text,
  alter column event_type type text;

drop index queen.idx_message_traces_transaction;
drop index queen.idx_message_traces_partition;
create index idx_message_traces_address
  on queen.message_traces (partition_id, left(transaction_id, 255), created_at, id);
