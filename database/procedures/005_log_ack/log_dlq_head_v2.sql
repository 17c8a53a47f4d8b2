-- Puts a message aside for one group: stores the copy and moves the cursor past it, in one step, and releases the
-- lease. {"ok":true,"id":uuid} or {"ok":false,"error":text}, in which case nothing has changed.
-- The second half of an ack that answered "dlq":true; the caller has cut the message out of its segment.
-- Promises
--   A dead letter exists exactly once per hand-over (invariant I36): a second call fails on the released lease, and
--   one without a worker id, or one overtaken by an ack that completed the message, fails because the cursor has
--   passed it.
--   p_payload and p_headers are kept byte for byte; they are text because jsonb refuses some legal JSON (hazard Z24).
--   With p_encrypted the payload is an envelope; it stays one.
-- If this call never comes, the lease runs out and the batch comes again from the message on.
-- The caller has verified that the partition belongs to its tenant.
-- Locks: the cursor row, waiting. Called by: the ack path.
create or replace function queen.log_dlq_head_v2(
  p_partition_id uuid,
  p_group text,
  p_worker text,
  p_off bigint,
  p_message_id uuid,
  p_txn text,
  p_payload text,
  p_error text,
  p_headers text,
  p_trace_id uuid,
  p_producer_sub text,
  p_encrypted boolean
)
returns jsonb
language plpgsql
as $$
declare
  v_cursor queen.log_consumers;
  v_id uuid;
begin
  select c.* into v_cursor
  from queen.log_consumers c
  where c.partition_id = p_partition_id and c.consumer_group = p_group
  for update;
  if not found then
    return '{"ok":false,"error":"consumer not found"}';
  end if;
  if coalesce(p_worker, '') <> '' and (
    v_cursor.worker_id is distinct from p_worker
    or v_cursor.lease_expires_at is null or v_cursor.lease_expires_at < clock_timestamp()) then
    return '{"ok":false,"error":"invalid or expired lease"}';
  end if;
  if p_off <= v_cursor.committed then
    return '{"ok":false,"error":"already committed"}';
  end if;
  if p_off > v_cursor.batch_end then
    return '{"ok":false,"error":"position beyond leased batch"}';
  end if;

  insert into queen.log_dlq (
    partition_id, consumer_group, "offset", message_id, transaction_id, payload, error, retry_count, failed_at,
    headers, trace_id, producer_sub, encrypted)
  values (
    p_partition_id, p_group, p_off, p_message_id, p_txn, p_payload, p_error, v_cursor.batch_retry_count,
    clock_timestamp(), p_headers, p_trace_id, p_producer_sub, coalesce(p_encrypted, false))
  returning id into v_id;

  update queen.log_consumers c
  set committed = p_off, worker_id = null, lease_expires_at = null, batch_end = null, batch_retry_count = 0,
      attempt_offset = null, attempt_end = null, attempt_count = 0, total_consumed = c.total_consumed + 1
  where c.partition_id = p_partition_id and c.consumer_group = p_group;

  return jsonb_build_object('ok', true, 'id', v_id);
end
$$;
