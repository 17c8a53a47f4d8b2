-- Acks by transaction id: the authority on what an ack means. One call is one atomic step of one cursor.
--   {"ok":true,"acked":n,"off":o,"noopHashes":[],"staleHashes":[],"unresolvedHashes":[], ...} or
--   {"ok":false,"error":text}, in which case nothing has changed
-- p_statuses, one per hash (null or missing array: all completed)
--   completed, success, acked, ok, empty, null   done
--   failed, retry, dlq                           a signal
--   anything else                                ignored
-- What happens
--   The lowest signal acts (at one offset dlq, then failed, then retry). The cursor moves to the highest done offset
--   below it; everything up to there counts as done, mentioned or not. Done items above the signal come again.
--   dlq, and failed with the budget spent: the lease stays and the answer says "dlq":true with "off" the message to
--     put aside and "partitionId","group","worker" for log_dlq_head_v1. Without dead letters ("dropped":true) the
--     cursor steps over the message and the lease ends.
--   failed within the budget: the lease ends, one failure is charged, whatever the number of failed items.
--   retry: the lease ends, nothing is charged.
--     On a queue with a retryDelay the batch rests after both, see log_hold_until_v1: no leased pop gets anything of
--     the partition before, so its order stays.
--   no signal: reaching the end of the batch ends the lease and clears retry and attempt fields; short of it the
--     lease stays, for the rest.
--   no batch at all (an ack without a lease): done items move the cursor, capped at the partition's last offset
--     ("capped":true when that bit); a signal has no effect.
--   A hash at or below the cursor is listed in noopHashes (done) or staleHashes (signal); one found nowhere in
--   unresolvedHashes. Lists are lowercase hex in input order.
-- Errors: SQLSTATE QACK0 when the two arrays disagree in length.
-- The caller has verified that the partition belongs to its tenant.
-- Locks: the cursor row, waiting. Never the partition row: acks would queue behind pushes; txns_start is read
-- unlocked, and an older value only looks at rows that are being purged.
-- Called by: the ack path whenever a batch is not acked whole and positionally.
create or replace function queen.log_ack_by_hash_v1(
  p_partition_id uuid,
  p_group text,
  p_worker text,
  p_hashes bytea[],
  p_statuses text[]
)
returns jsonb
language plpgsql
as $$
declare
  v_count int := coalesce(cardinality(p_hashes), 0);
  v_cursor queen.log_consumers;
  v_leased boolean;
  v_last_offset bigint;
  v_txns_start bigint;
  v_retry_limit int;
  v_retry_delay int;
  v_dead_letters boolean;
  v_high bigint;
  v_offsets bigint[]; -- per input: its offset in reach of this ack
  v_below bigint[];   -- per input without one: an offset at or below the cursor
  v_signal text;
  v_signal_off bigint;
  v_new bigint;
  v_delta bigint;
  v_off bigint;
  v_capped boolean := false;
  v_release boolean := false;
  v_hold_until timestamptz;
  v_extra jsonb := '{}';
  v_noop jsonb;
  v_stale jsonb;
  v_unresolved jsonb;
begin
  if p_statuses is not null and cardinality(p_statuses) <> v_count then
    raise exception using errcode = 'QACK0', message = 'QACK: hashes and statuses differ in length';
  end if;

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
  v_leased := v_cursor.batch_end is not null;

  select p.last_offset, p.txns_start, coalesce(q.retry_limit, 3), coalesce(q.retry_delay, 0),
         coalesce(q.dead_letter_queue, true) or coalesce(q.dlq_after_max_retries, true)
  into v_last_offset, v_txns_start, v_retry_limit, v_retry_delay, v_dead_letters
  from queen.log_partitions p
  join queen.queues q on q.id = p.queue_id
  where p.id = p_partition_id;

  -- Without a batch everything up to the last hash row is in reach; one above last_offset would be capped below.
  v_high := v_cursor.batch_end;
  if not v_leased then
    select t.end_offset into v_high
    from queen.log_txns t
    where t.partition_id = p_partition_id
    order by t.base_offset desc
    limit 1;
  end if;
  v_offsets := queen.log_find_hashes_v1(
    p_partition_id, p_hashes, greatest(v_cursor.committed + 1, v_txns_start), v_high, false);
  if array_position(v_offsets, null) is not null then
    v_below := queen.log_find_hashes_v1(
      p_partition_id,
      array(
        select case when u.off is null then u.h end
        from unnest(p_hashes, v_offsets) with ordinality u(h, off, ord)
        order by u.ord),
      v_txns_start, v_cursor.committed, true);
  end if;

  select u.off, u.status into v_signal_off, v_signal
  from unnest(v_offsets, p_statuses) u(off, status)
  where u.off is not null and u.status in ('dlq', 'failed', 'retry')
  order by u.off, array_position(array['dlq', 'failed', 'retry'], u.status)
  limit 1;

  select
    coalesce(max(i.off) filter (where i.done and (v_signal_off is null or i.off < v_signal_off)), v_cursor.committed),
    coalesce(jsonb_agg(i.hex order by i.ord) filter (where i.done and i.off is null and i.below is not null), '[]'),
    coalesce(jsonb_agg(i.hex order by i.ord) filter (where i.signal and i.off is null and i.below is not null), '[]'),
    coalesce(jsonb_agg(i.hex order by i.ord) filter (where i.off is null and i.below is null), '[]')
  into v_new, v_noop, v_stale, v_unresolved
  from (
    select u.ord, u.off, u.below, encode(u.h, 'hex') as hex,
           coalesce(u.status, '') in ('', 'completed', 'success', 'acked', 'ok') as done,
           coalesce(u.status, '') in ('dlq', 'failed', 'retry') as signal
    from unnest(p_hashes, p_statuses, v_offsets, v_below) with ordinality u(h, status, off, below, ord)
  ) i;

  if not v_leased then
    v_capped := v_new > v_last_offset;
    v_new := greatest(least(v_new, v_last_offset), v_cursor.committed);
    v_signal := null;
  end if;
  v_delta := v_new - v_cursor.committed;
  v_off := v_new;

  -- From here on v_cursor is what the row becomes.
  v_cursor.committed := v_new;
  v_cursor.total_consumed := v_cursor.total_consumed + v_delta;
  if v_signal = 'dlq' or v_signal = 'failed' and v_cursor.batch_retry_count >= v_retry_limit then
    v_off := v_signal_off;
    if v_signal = 'dlq' or v_dead_letters then
      v_extra := jsonb_build_object(
        'dlq', true, 'partitionId', p_partition_id, 'group', p_group, 'worker', coalesce(p_worker, ''));
    else
      v_extra := '{"dropped":true}';
      v_cursor.committed := v_signal_off;
      v_cursor.total_consumed := v_cursor.total_consumed + 1;
      v_cursor.batch_retry_count := 0;
      v_release := true;
    end if;
  elsif v_signal is not null then
    v_cursor.batch_retry_count := v_cursor.batch_retry_count + (v_signal = 'failed')::int;
    v_release := true;
    if v_retry_delay > 0 then
      v_hold_until := queen.log_hold_until_v1(v_retry_delay, v_cursor.batch_retry_count);
    end if;
  elsif v_leased and v_new >= v_cursor.batch_end then
    v_cursor.batch_retry_count := 0;
    v_cursor.attempt_offset := null;
    v_cursor.attempt_end := null;
    v_cursor.attempt_count := 0;
    v_release := true;
  end if;

  -- An ack that changes nothing writes nothing.
  if v_release or v_delta > 0 then
    update queen.log_consumers c
    set committed = v_cursor.committed,
        worker_id = case when not v_release then c.worker_id end,
        lease_expires_at = case when not v_release then c.lease_expires_at end,
        batch_end = case when not v_release then c.batch_end end,
        hold_until = v_hold_until,
        batch_retry_count = v_cursor.batch_retry_count,
        attempt_offset = v_cursor.attempt_offset,
        attempt_end = v_cursor.attempt_end,
        attempt_count = v_cursor.attempt_count,
        total_consumed = v_cursor.total_consumed
    where c.partition_id = p_partition_id and c.consumer_group = p_group;
  end if;

  if v_capped then
    v_extra := v_extra || '{"capped":true}';
  end if;
  return jsonb_build_object(
    'ok', true, 'acked', v_delta, 'off', v_off,
    'noopHashes', v_noop, 'staleHashes', v_stale, 'unresolvedHashes', v_unresolved) || v_extra;
end
$$;
