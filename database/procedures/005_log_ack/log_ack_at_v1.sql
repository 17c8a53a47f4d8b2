-- Positional ack of one (partition, group): moves the cursor to p_upto and releases the lease; without p_ok, or
-- without a position, it releases the lease and leaves the cursor (a nack; on a queue with a retryDelay the batch
-- rests then, see log_hold_until_v1).
--   {"ok":true,"acked":n} or {"ok":false,"error":text}, in which case nothing has changed
-- Promises
--   The cursor never moves back, and never beyond the leased batch.
--   Completing the whole batch clears the retry counter and the attempt fields, as acking by hash does: otherwise one
--   failure per batch, each followed by a success here, would use up the retry budget.
--   With a worker id only that worker's live lease counts; without one there is no check (hazard Z28).
-- The caller has verified that the partition belongs to its tenant: a partition id carries none.
-- Locks: the cursor row, waiting. Called by: the ack fast path, log_ack_multi_v1, log_ack_v1.
create or replace function queen.log_ack_at_v1(
  p_partition_id uuid,
  p_group text,
  p_worker text,
  p_upto bigint,
  p_ok boolean default true,
  p_acked_count int default 0
)
returns jsonb
language plpgsql
as $$
declare
  v_cursor queen.log_consumers;
  v_acked int := greatest(coalesce(p_acked_count, 0), 0);
begin
  select c.* into v_cursor
  from queen.log_consumers c
  where c.partition_id = p_partition_id and c.consumer_group = p_group
  for update;
  if not found then
    return '{"ok":false,"error":"consumer not found"}';
  end if;

  -- After the lock: a lease may run out while this waits.
  if coalesce(p_worker, '') <> '' and (
    v_cursor.worker_id is distinct from p_worker
    or v_cursor.lease_expires_at is null or v_cursor.lease_expires_at < clock_timestamp()) then
    return '{"ok":false,"error":"invalid or expired lease"}';
  end if;

  if p_upto is null or p_ok is not true then
    update queen.log_consumers c
    set worker_id = null, lease_expires_at = null, batch_end = null,
        hold_until = (
          select queen.log_hold_until_v1(q.retry_delay, c.batch_retry_count)
          from queen.log_partitions p
          join queen.queues q on q.id = p.queue_id
          where p.id = p_partition_id)
    where c.partition_id = p_partition_id and c.consumer_group = p_group;
    return '{"ok":true,"acked":0}';
  end if;

  if v_cursor.batch_end is null then
    return '{"ok":false,"error":"no leased batch"}';
  end if;
  if p_upto > v_cursor.batch_end then
    return '{"ok":false,"error":"position beyond leased batch"}';
  end if;

  if p_upto = v_cursor.batch_end then
    v_cursor.batch_retry_count := 0;
    v_cursor.attempt_offset := null;
    v_cursor.attempt_end := null;
    v_cursor.attempt_count := 0;
  end if;
  update queen.log_consumers c
  set committed = greatest(c.committed, p_upto), worker_id = null, lease_expires_at = null, batch_end = null,
      total_consumed = c.total_consumed + v_acked, batch_retry_count = v_cursor.batch_retry_count,
      attempt_offset = v_cursor.attempt_offset, attempt_end = v_cursor.attempt_end,
      attempt_count = v_cursor.attempt_count
  where c.partition_id = p_partition_id and c.consumer_group = p_group;
  return jsonb_build_object('ok', true, 'acked', v_acked);
end
$$;
