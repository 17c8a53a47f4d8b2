-- Pop over a list of partition names that the hot-list believes to have data, in the order given.
-- Rows: first one per segment (r_state null), partitions in claim order, then one verdict per name that was
-- evaluated, in input order, with r_partition, r_partition_id and r_state:
--   took    served. r_last_off: the partition's last offset at or just after the claim; the name is drained only if
--           the last message served is at or past it
--   leased  r_wait_ms from now until it is worth asking again: the rest of another worker's lease, the rest of a
--           retryDelay, or 250 ms when nothing was delivered though a backlog exists (a lost lock race, or messages
--           held back)
--   empty   nothing delivered, no foreign lease, no backlog in a snapshot taken after the claim attempt
-- Promises
--   empty is never said of a partition with a backlog: the hot-list would drop it (hazard Z8).
--   Names after the budget or the partition cap is used up are not evaluated and get no row. A name given twice is
--   evaluated once. An unknown name is empty with a null id; an unknown queue answers no row at all.
--   Registers nobody, creates no queue, keeps no watermark.
-- Locks: those of log_pop_v1 for each name; never waits. Called by: the hot-list pop.
create or replace function queen.log_pop_list_v1(
  p_queue text,
  p_group text,
  p_partitions text[],
  p_budget int,
  p_lease_seconds int,
  p_worker text,
  p_auto_ack boolean,
  p_max_partitions int,
  p_sub_mode text default 'all',
  p_sub_from text default '',
  p_skip_window boolean default false,
  p_tenant uuid default '00000000-0000-0000-0000-000000000001'
)
returns table (
  r_queue text,
  r_partition text,
  r_partition_id uuid,
  r_base bigint,
  r_start_idx int,
  r_take int,
  r_msg_count int,
  r_created_at timestamptz,
  r_blob bytea,
  r_attempt int,
  r_state text,
  r_last_off bigint,
  r_wait_ms int
)
language plpgsql
as $$
declare
  -- As in log_pop_v1, over all partitions of the answer.
  c_bytes_max constant bigint := 16777216;
  v_bytes bigint := 0;
  c_short_wait_ms constant int := 250;
  v_left int := greatest(coalesce(p_budget, 1), 1);
  v_partitions_left int := case when p_max_partitions > 0 then p_max_partitions else 2147483647 end;
  v_name text;
  v_pid uuid;
  v_last_off bigint;
  v_committed bigint;
  v_busy_until timestamptz;
  v_names text[] := '{}';
  v_pids uuid[] := '{}';
  v_states text[] := '{}';
  v_last_offs bigint[] := '{}';
  v_waits int[] := '{}';
begin
  perform from queen.queues q where q.tenant_id = p_tenant and q.name = p_queue;
  if not found then
    return;
  end if;

  r_queue := p_queue;
  for v_name in
    select u.name
    from unnest(p_partitions) with ordinality u(name, ord)
    where u.name is not null
    group by u.name
    order by min(u.ord)
  loop
    exit when v_left <= 0 or v_partitions_left <= 0 or v_bytes >= c_bytes_max;

    r_partition := v_name;
    r_partition_id := null;
    for r_base, r_start_idx, r_take, r_msg_count, r_created_at, r_blob in
      select s.r_base, s.r_start_idx, s.r_take, s.r_msg_count, s.r_created_at, s.r_blob
      from queen.log_pop_v1(
        p_queue, v_name, p_group, v_left, p_lease_seconds, p_worker, p_auto_ack, p_sub_mode, p_sub_from,
        p_skip_window, p_tenant) s
    loop
      if r_partition_id is null then
        -- A later command than the claim, for the reason given in log_pop_specific_v1.
        select p.id, p.last_offset, queen.log_attempt_v1(
                 p_auto_ack, c.attempt_count, c.attempt_offset, c.lost_count, c.lost_offset)
        into r_partition_id, v_last_off, r_attempt
        from queen.queues q
        join queen.log_partitions p on p.queue_id = q.id and p.name = v_name
        join queen.log_consumers c on c.partition_id = p.id and c.consumer_group = p_group
        where q.tenant_id = p_tenant and q.name = p_queue;
      end if;
      v_left := v_left - r_take;
      v_bytes := v_bytes + octet_length(r_blob);
      return next;
    end loop;

    v_names := v_names || v_name;
    if r_partition_id is not null then
      v_partitions_left := v_partitions_left - 1;
      v_pids := v_pids || r_partition_id;
      v_states := v_states || 'took'::text;
      v_last_offs := v_last_offs || v_last_off;
      v_waits := v_waits || null::int;
    else
      -- Lease and backlog in one snapshot, taken after the claim attempt. The winner of a lost race may be an
      -- auto-ack pop, which leaves no lease to see: then only the backlog tells.
      v_pid := null;
      v_busy_until := null;
      select p.id, p.last_offset, coalesce(c.committed, -1),
             greatest(
               case when c.worker_id is distinct from p_worker and c.worker_id is not null then c.lease_expires_at end,
               case when p.last_offset > c.committed then c.hold_until end)
      into v_pid, v_last_off, v_committed, v_busy_until
      from queen.queues q
      join queen.log_partitions p on p.queue_id = q.id and p.name = v_name
      left join queen.log_consumers c on c.partition_id = p.id and c.consumer_group = p_group
      where q.tenant_id = p_tenant and q.name = p_queue;

      v_pids := v_pids || v_pid;
      v_last_offs := v_last_offs || null::bigint;
      if v_busy_until > clock_timestamp() then
        v_states := v_states || 'leased'::text;
        v_waits := v_waits || least(
          greatest(ceil(extract(epoch from v_busy_until - clock_timestamp()) * 1000), 0), 2147483647)::int;
      elsif v_last_off > v_committed then
        v_states := v_states || 'leased'::text;
        v_waits := v_waits || c_short_wait_ms;
      else
        v_states := v_states || 'empty'::text;
        v_waits := v_waits || null::int;
      end if;
    end if;
  end loop;

  r_base := null;
  r_start_idx := null;
  r_take := null;
  r_msg_count := null;
  r_created_at := null;
  r_blob := null;
  r_attempt := null;
  for v_i in 1..cardinality(v_names) loop
    r_partition := v_names[v_i];
    r_partition_id := v_pids[v_i];
    r_state := v_states[v_i];
    r_last_off := v_last_offs[v_i];
    r_wait_ms := v_waits[v_i];
    return next;
  end loop;
end
$$;
