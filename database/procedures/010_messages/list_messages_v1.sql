-- A page of stored messages, newest first: one row per message, without its content, which only the broker can read.
--   p_queue, p_partition, p_namespace, p_task  exact names; null: any
--   p_status  pending, processing, completed or dead_letter; null: any. Judged by the cursor of queue mode; a message
--             that any group has put aside is a dead letter
--   p_from, p_to  committed at or after p_from (null: an hour ago) and up to the end of the minute of p_to (null: now)
-- r_base, r_end, r_off: its segment and its place. Order: commit time, then partition, then offset, all descending.
--
-- No index is by time over partitions (it would cost every push), so partitions are visited from the one written last,
-- and the walk stops when enough messages are newer than anything the rest can hold. Inside a partition the borders of
-- the time range are found by halving. A filter that hardly any message passes visits every partition written since
-- p_from.
-- Stable: everything is read with the one snapshot of the calling statement, so a page agrees with itself.
-- Takes no lock. Called by: the message list.
create or replace function queen.list_messages_v1(
  p_queue text,
  p_partition text,
  p_namespace text,
  p_task text,
  p_status text,
  p_from timestamptz,
  p_to timestamptz,
  p_limit int,
  p_offset int,
  p_tenant uuid
)
returns table (
  r_partition_id uuid,
  r_queue text,
  r_partition text,
  r_namespace text,
  r_task text,
  r_priority int,
  r_base bigint,
  r_end bigint,
  r_off bigint,
  r_created_at timestamptz,
  r_hash bytea,
  r_status text,
  r_consumed_by int,
  r_groups int,
  r_lease_expires_at timestamptz
)
language plpgsql stable
as $$
declare
  -- last_write_at is moved once a second at most; the rest of the slack is for a stamp taken a moment after it.
  c_lag constant interval := interval '2 seconds';
  v_from timestamptz := coalesce(p_from, now() - interval '1 hour');
  v_to timestamptz := date_trunc('minute', coalesce(p_to, now())) + interval '1 minute'; -- exclusive
  v_need int := p_limit + p_offset;
  v_part record;
  v_cursor record;
  v_segment record;
  v_has_letters boolean;
  v_low bigint;      -- bases of the partition's segments in the time range: at or above v_low …
  v_high bigint;     -- … and below v_high
  v_first bigint;    -- offsets that can have the status: v_first …
  v_last bigint;     -- … to v_last
  v_off bigint;
  v_found int;
  v_floor timestamptz; -- commit time of the message that is now the last of those needed
  -- The messages found so far, index by index.
  v_pids uuid[] := '{}';
  v_offs bigint[] := '{}';
  v_times timestamptz[] := '{}';
begin
  for v_part in
    select r.r_id as id, r.r_last_offset as last_offset, r.r_txns_start as txns_start,
           r.r_last_write_at as last_write_at
    from queen.log_recent_partitions_v1(
      p_queue, p_partition, p_namespace, p_task, p_status = 'dead_letter', v_from - c_lag, p_tenant) r
  loop
    exit when v_floor > v_part.last_write_at + c_lag;

    v_first := 0;
    v_last := v_part.last_offset;
    if p_status is not null then
      select coalesce(max(c.committed), -1) as committed,
             max(c.batch_end) filter (where c.lease_expires_at >= now()) as leased
      into v_cursor
      from queen.log_consumers c
      where c.partition_id = v_part.id and c.consumer_group = '__QUEUE_MODE__';
      if p_status = 'completed' then
        v_last := v_cursor.committed;
      elsif p_status = 'processing' then
        v_first := v_cursor.committed + 1;
        v_last := coalesce(v_cursor.leased, -1);
      elsif p_status = 'pending' then
        v_first := greatest(v_cursor.committed, coalesce(v_cursor.leased, -1)) + 1;
      end if;
    end if;
    continue when v_first > v_last;

    v_low := queen.log_dedup_start_v1(
      v_part.id, v_part.txns_start - 1, v_part.last_offset, greatest(v_from, v_floor));
    continue when v_low is null;
    v_high := coalesce(
      queen.log_dedup_start_v1(v_part.id, v_low - 1, v_part.last_offset, v_to), v_part.last_offset + 1);
    v_first := greatest(v_first, v_low);
    v_last := least(v_last, v_high - 1);
    v_found := 0;

    if p_status = 'dead_letter' then
      for v_segment in
        select l.off, t.created_at
        from (
          select distinct d."offset" as off
          from queen.log_dlq d
          where d.partition_id = v_part.id and d."offset" between v_first and v_last
          order by off desc
          limit v_need
        ) l
        cross join lateral (
          select n.end_offset, n.created_at
          from queen.log_txns n
          where n.partition_id = v_part.id and n.base_offset <= l.off
          order by n.base_offset desc
          limit 1
        ) t
        where t.end_offset >= l.off
      loop
        v_pids := v_pids || v_part.id;
        v_offs := v_offs || v_segment.off;
        v_times := v_times || v_segment.created_at;
        v_found := v_found + 1;
      end loop;
    else
      v_has_letters := p_status is not null and exists (
        select from queen.log_dlq d
        where d.partition_id = v_part.id and d."offset" between v_first and v_last);
      <<segments>>
      for v_segment in
        select t.base_offset, t.end_offset, t.created_at
        from queen.log_txns t
        where t.partition_id = v_part.id and t.base_offset >= v_low and t.base_offset <= v_last
        order by t.base_offset desc
      loop
        exit when v_segment.end_offset < v_first;
        -- Not a FOR over integers: its variable is 32 bits wide, an offset 64.
        v_off := least(v_segment.end_offset, v_last) + 1;
        while v_off > greatest(v_segment.base_offset, v_first) loop
          v_off := v_off - 1;
          continue when v_has_letters and exists (
            select from queen.log_dlq d where d.partition_id = v_part.id and d."offset" = v_off);
          v_pids := v_pids || v_part.id;
          v_offs := v_offs || v_off;
          v_times := v_times || v_segment.created_at;
          v_found := v_found + 1;
          exit segments when v_found = v_need;
        end loop;
      end loop;
    end if;

    if v_found > 0 and cardinality(v_pids) >= v_need then
      select array_agg(u.pid), array_agg(u.off), array_agg(u.at)
      into v_pids, v_offs, v_times
      from (
        select f.pid, f.off, f.at
        from unnest(v_pids, v_offs, v_times) f(pid, off, at)
        order by f.at desc, f.pid desc, f.off desc
        limit v_need
      ) u;
      v_floor := v_times[v_need];
    end if;
  end loop;

  return query
    with page as (
      select f.pid, f.off, f.at
      from unnest(v_pids, v_offs, v_times) f(pid, off, at)
      order by f.at desc, f.pid desc, f.off desc
      limit p_limit offset p_offset
    )
    select g.pid, q.name::text, p.name, q.namespace::text, q.task::text, coalesce(q.priority, 0),
           t.base_offset, t.end_offset, g.off, g.at,
           substr(t.hashes, ((g.off - t.base_offset) * 16 + 1)::int, 16),
           case
             when exists (
               select from queen.log_dlq d where d.partition_id = g.pid and d."offset" = g.off) then 'dead_letter'
             when g.off <= c.committed then 'completed'
             when c.lease_expires_at >= now() and g.off <= c.batch_end then 'processing'
             else 'pending'
           end,
           b.consumed, b.total,
           case when g.off > c.committed and g.off <= c.batch_end then c.lease_expires_at end
    from page g
    join queen.log_partitions p on p.id = g.pid
    join queen.queues q on q.id = p.queue_id
    cross join lateral (
      select n.base_offset, n.end_offset, n.hashes
      from queen.log_txns n
      where n.partition_id = g.pid and n.base_offset <= g.off
      order by n.base_offset desc
      limit 1
    ) t
    left join queen.log_consumers c on c.partition_id = g.pid and c.consumer_group = '__QUEUE_MODE__'
    cross join lateral (
      select count(*) filter (where o.committed >= g.off)::int as consumed, count(*)::int as total
      from queen.log_consumers o
      where o.partition_id = g.pid and o.consumer_group <> '__QUEUE_MODE__'
    ) b
    order by g.at desc, g.pid desc, g.off desc;
end
$$;
