-- stats_count_v1 for the number and size of segments: they are many more than partitions, so they have a walk of their
-- own, which can pause inside a partition. A queue, a partition and a segment cost 1 each.
-- The size is that of the stored blob; it is read from the row, the blob itself is not touched.
-- Sequential scans are off for the reason given in log_pop_candidates_v1.
-- Locks: the walks it visits, skipping locked ones. Waits for nobody.
-- Called by: the stats loop, the stats refresh route.
create or replace function queen.stats_weigh_v1(p_budget int, p_run_at timestamptz)
returns table (r_visits int, r_finished int, r_done boolean)
language plpgsql
set enable_seqscan = off
as $$
declare
  v_left int := greatest(p_budget, 4);
  v_walk queen.queue_walks;
  v_partition record;
  v_segments bigint;
  v_bytes bigint;
  v_last bigint;
  v_limit int;
begin
  r_visits := 0;
  r_finished := 0;
  r_done := false;
  while v_left > 2 loop
    select w.* into v_walk
    from queen.queue_walks w
    where w.lane = 'weigh' and (w.is_walking or w.visited_at < p_run_at)
    order by w.visited_at
    limit 1
    for update skip locked;
    if not found then
      r_done := true;
      exit;
    end if;
    v_left := v_left - 1;
    r_visits := r_visits + 1;
    v_walk.is_walking := false;

    for v_partition in
      select p.id, p.name, p.last_offset >= p.log_start as has_segments
      from queen.log_partitions p
      where p.queue_id = v_walk.queue_id and p.name >= coalesce(v_walk.after_name, '')
        and (v_walk.after_offset is not null or p.name is distinct from v_walk.after_name)
      order by p.name
    loop
      if v_left <= 1 then
        v_walk.is_walking := true;
        exit;
      end if;
      v_left := v_left - 1;
      if v_partition.name is distinct from v_walk.after_name then
        v_walk.after_offset := null; -- also when the partition it was about is gone
      end if;
      v_walk.after_name := v_partition.name;
      continue when not v_partition.has_segments;
      v_limit := v_left;
      select count(*), coalesce(sum(n.bytes), 0), max(n.base_offset)
      into v_segments, v_bytes, v_last
      from (
        select s.base_offset, octet_length(s.blob) as bytes
        from queen.log_segments s
        where s.partition_id = v_partition.id
          and s.base_offset > coalesce(v_walk.after_offset, -1)
        order by s.base_offset
        limit v_limit
      ) n;
      v_left := v_left - v_segments;
      v_walk.segments := v_walk.segments + v_segments;
      v_walk.retained_bytes := v_walk.retained_bytes + v_bytes;
      v_walk.after_offset := case when v_segments = v_limit then v_last end;
      if v_walk.after_offset is not null then
        v_walk.is_walking := true;
        exit;
      end if;
    end loop;

    if v_walk.is_walking then
      update queen.queue_walks w
      set visited_at = clock_timestamp(), is_walking = true, after_name = v_walk.after_name,
          after_offset = v_walk.after_offset, segments = v_walk.segments, retained_bytes = v_walk.retained_bytes
      where w.queue_id = v_walk.queue_id and w.lane = 'weigh';
    else
      update queen.queue_stats s
      set segments = v_walk.segments, retained_bytes = v_walk.retained_bytes, weighed_at = clock_timestamp()
      where s.queue_id = v_walk.queue_id;
      update queen.queue_walks w
      set visited_at = clock_timestamp(), is_walking = false, after_name = null, after_offset = null,
          segments = 0, retained_bytes = 0
      where w.queue_id = v_walk.queue_id and w.lane = 'weigh';
      r_finished := r_finished + 1;
    end if;
  end loop;
  return next;
end
$$;
