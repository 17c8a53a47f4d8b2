-- Puts aside a message that has used up its deliveries (max_deliveries): stores the copy as a dead letter with the
-- reason "max deliveries", or steps over the message when the queue keeps no dead letters, and releases the lease.
--   {"ok":true,"id":uuid or null} or {"ok":false,"error":text}, in which case nothing has changed
-- Promises: what log_dlq_head_v2 promises. Only a message that log_lost_lease_v1 has judged is put aside.
-- If this call never comes, the lease runs out and the next pop gets the message to be put aside.
-- Locks: the cursor row, waiting. Called by: pop, for a claim whose r_attempt is 0.
create or replace function queen.log_put_aside_v1(
  p_partition_id uuid,
  p_group text,
  p_worker text,
  p_off bigint,
  p_message_id uuid,
  p_txn text,
  p_payload text,
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
  v_dead_letters boolean;
  v_result jsonb := '{"ok":true,"id":null}';
begin
  select c.* into v_cursor
  from queen.log_consumers c
  where c.partition_id = p_partition_id and c.consumer_group = p_group
  for update;
  if not found then
    return '{"ok":false,"error":"consumer not found"}';
  end if;
  -- After the lock: a lease may run out while this waits.
  if v_cursor.worker_id is distinct from p_worker
    or v_cursor.lease_expires_at is null or v_cursor.lease_expires_at < clock_timestamp() then
    return '{"ok":false,"error":"invalid or expired lease"}';
  end if;
  if v_cursor.lost_count >= 0 or v_cursor.lost_offset is distinct from p_off or p_off <= v_cursor.committed then
    return '{"ok":false,"error":"not exhausted"}';
  end if;

  select coalesce(q.dead_letter_queue, true) or coalesce(q.dlq_after_max_retries, true) into v_dead_letters
  from queen.log_partitions p
  join queen.queues q on q.id = p.queue_id
  where p.id = p_partition_id;

  if v_dead_letters then
    v_result := queen.log_dlq_head_v2(
      p_partition_id, p_group, p_worker, p_off, p_message_id, p_txn, p_payload, 'max deliveries',
      p_headers, p_trace_id, p_producer_sub, p_encrypted);
    if not (v_result -> 'ok')::boolean then
      return v_result;
    end if;
  end if;

  -- The culprit is found, so what else was in its batch is no longer suspected.
  update queen.log_consumers c
  set committed = p_off, worker_id = null, lease_expires_at = null, batch_end = null, batch_retry_count = 0,
      attempt_offset = null, attempt_end = null, attempt_count = 0,
      total_consumed = v_cursor.total_consumed + 1, lost_offset = null, lost_end = null, lost_count = 0
  where c.partition_id = p_partition_id and c.consumer_group = p_group;
  return v_result;
end
$$;
