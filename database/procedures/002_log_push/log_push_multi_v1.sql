-- Appends N segments in one transaction: log_push_multi_v2 for callers that keep no index of hashes. Promises, errors and
-- locks are those of log_push_multi_v2; p_verified holds without a condition, p_tenants null means the default tenant.
-- Called by: log_transaction_wire_v1.
create or replace function queen.log_push_multi_v1(
  p_queues text[],
  p_partitions text[],
  p_msg_counts int[],
  p_hashes bytea[],
  p_verified bigint[],
  p_blobs bytea[],
  p_tenants uuid[] default null
)
returns jsonb
language plpgsql
as $$
begin
  return queen.log_push_multi_v2(
    p_queues, p_partitions, p_msg_counts, p_hashes, p_verified, p_blobs, p_tenants, null, null, null);
end
$$;
