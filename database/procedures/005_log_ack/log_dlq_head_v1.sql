-- log_dlq_head_v2 for a caller that does not carry headers, trace id, producer and the encryption mark.
-- Called by: brokers of the previous version during an upgrade.
create or replace function queen.log_dlq_head_v1(
  p_partition_id uuid,
  p_group text,
  p_worker text,
  p_off bigint,
  p_message_id uuid,
  p_txn text,
  p_payload text,
  p_error text
)
returns jsonb
language plpgsql
as $$
begin
  return queen.log_dlq_head_v2(
    p_partition_id, p_group, p_worker, p_off, p_message_id, p_txn, p_payload, p_error, null, null, null, false);
end
$$;
