-- Partitions that a rule lets lose something now, and where to go on looking.
--   {"work": [{"partitionId", "all", "completed", "maxWait"}], "looked": n, "next": {"queue", "at", "id"} or null}
--   all, completed, maxWait  cutoffs for the steps, ISO texts by this database's clock; null: the rule does not apply
--   next                     pass it back to continue; null: the end was reached
-- Looks at p_scan partitions at most, and only at those whose oldest segment is older than a cutoff of their queue, by
-- index. What no rule keeps back is listed at once; what only the completed rule could remove is listed when its first
-- segment has been finished by every group, so that a paused group costs a look and not a lock.
-- Takes no lock. Called by: the retention loop.
create or replace function queen.log_retention_work_v1(
  p_queue uuid,
  p_at timestamptz,
  p_id uuid,
  p_scan int
)
returns jsonb
language plpgsql stable
as $$
declare
  c_last_id constant uuid := 'ffffffff-ffff-ffff-ffff-ffffffffffff';
  v_now timestamptz := clock_timestamp();
  v_left int := greatest(coalesce(p_scan, 1), 1);
  v_queue record;
  v_partition record;
  v_all timestamptz;
  v_completed timestamptz;
  v_max_wait timestamptz;
  v_head_end bigint;
  v_due boolean;
  v_work jsonb[] := '{}';
  v_next jsonb;
begin
  <<queues>>
  for v_queue in
    select q.id, q.retention_enabled, q.retention_seconds, q.completed_retention_seconds, q.max_wait_time_seconds
    from queen.queues q
    where (q.retention_enabled or q.max_wait_time_seconds > 0) and q.id >= p_queue
    order by q.id
    limit v_left
  loop
    v_all := case when v_queue.retention_enabled and v_queue.retention_seconds > 0
      then v_now - make_interval(secs => v_queue.retention_seconds) end;
    v_completed := case when v_queue.retention_enabled and v_queue.completed_retention_seconds > 0
      then v_now - make_interval(secs => v_queue.completed_retention_seconds) end;
    v_max_wait := case when v_queue.max_wait_time_seconds > 0
      then v_now - make_interval(secs => v_queue.max_wait_time_seconds) end;

    for v_partition in
      select p.id, p.oldest_live_at, p.log_start, p.last_offset
      from queen.log_partitions p
      where p.queue_id = v_queue.id and p.oldest_live_at < greatest(v_all, v_completed, v_max_wait)
        and (p.oldest_live_at, p.id) > (
          case when v_queue.id = p_queue then p_at else '-infinity' end,
          case when v_queue.id = p_queue then p_id else '00000000-0000-0000-0000-000000000000' end)
      order by p.oldest_live_at, p.id
      limit v_left
    loop
      v_left := v_left - 1;
      v_due := coalesce(v_partition.oldest_live_at < greatest(v_all, v_max_wait), false);
      if not v_due then
        select s.end_offset into v_head_end
        from queen.log_segments s
        where s.partition_id = v_partition.id and s.base_offset >= v_partition.log_start
        order by s.base_offset
        limit 1;
        -- Without a segment the mark is wrong, and the step puts it right.
        v_due := not found or coalesce(
          v_head_end < queen.log_unread_from_v1(
            v_partition.id, v_queue.id, v_partition.log_start, v_partition.last_offset)
          and exists (select from queen.log_consumers c where c.partition_id = v_partition.id), false);
      end if;
      if v_due then
        v_work := v_work || jsonb_build_object(
          'partitionId', v_partition.id, 'all', queen.log_utc_iso(v_all),
          'completed', queen.log_utc_iso(v_completed), 'maxWait', queen.log_utc_iso(v_max_wait));
      end if;
      if v_left = 0 then
        v_next := jsonb_build_object(
          'queue', v_queue.id, 'at', queen.log_utc_iso(v_partition.oldest_live_at), 'id', v_partition.id);
        exit queues;
      end if;
    end loop;

    v_left := v_left - 1;
    if v_left = 0 then
      v_next := jsonb_build_object('queue', v_queue.id, 'at', 'infinity', 'id', c_last_id);
      exit queues;
    end if;
  end loop;

  return jsonb_build_object(
    'work', to_jsonb(v_work), 'looked', greatest(coalesce(p_scan, 1), 1) - v_left, 'next', v_next);
end
$$;
