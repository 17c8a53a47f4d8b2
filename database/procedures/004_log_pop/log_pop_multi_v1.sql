-- Many pops over listed partitions in one transaction: each job is a pop of log_pop_list_v1 with candidates of its own.
-- Rows, by job and within a job by candidate; r_part is the candidate's position in p_names, from 1:
--   a row per segment served; the first one of a partition carries r_state 'took' and r_last_off
--   a row without a segment (r_take null) for a candidate looked at in vain: r_state 'leased' with r_wait_ms, or 'empty'
-- What they mean and what is promised of them stands in log_pop_list_v1. Two candidates for one cursor: the second is
-- answered as if another pop had it. A job of which no candidate has a row was not looked at, because the answer was
-- full; the first one always is.
-- Parameters: one entry a job, as in log_pop_list_v1, then one entry a candidate: its name, and its job counted from 1,
-- ascending.
-- How: in waves. A wave claims in one command what all jobs may be served next, reads it in another and moves the cursors
-- in a third, instead of four commands a candidate. What is not plain (a cursor to be created, a queue that holds
-- messages back or lets them expire, lost leases to be counted) goes through log_pop_list_v1, one candidate at a time.
-- A cursor whose job has had enough meanwhile was locked in vain.
-- Plans are generic and go cursor by cursor: one that was made for small tables would stay when they have grown.
-- Errors: SQLSTATE QPOPM when the arrays disagree in length; QPOP0 as in log_pop_v1.
-- Locks: cursor rows, skipping locked ones, a wave's in ascending partition id; those of log_pop_v1 for what is not
-- plain. Never waits, so a partition that somebody holds delays no other. Called by: the claim flush.
create or replace function queen.log_pop_multi_v1(
  p_tenants uuid[],
  p_queues text[],
  p_groups text[],
  p_budgets int[],
  p_lease_seconds int[],
  p_workers text[],
  p_auto_acks boolean[],
  p_max_partitions int[],
  p_sub_modes text[],
  p_sub_froms text[],
  p_skip_windows boolean[],
  p_names text[],
  p_jobs int[]
)
returns table (
  r_part int,
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
set plan_cache_mode = force_generic_plan
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  c_bytes_max constant bigint := 16777216; -- as in log_pop_v1, over the whole answer
  c_short_wait_ms constant int := 250;
  v_now timestamptz;
  v_jobs int := coalesce(cardinality(p_queues), 0);
  v_count int := coalesce(cardinality(p_names), 0);
  v_left int[];            -- by job: messages and partitions it may still take
  v_partitions_left int[];
  v_bytes bigint := 0;
  v_seen boolean[];        -- by candidate: some wave has had it
  v_room int;
  v_room_job int;
  v_wave int[];
  v_size int;
  -- By position in the wave; null where the cursor was not claimed.
  v_pids uuid[];
  v_cursors queen.log_consumers[];
  v_wanteds bigint[];
  v_leases int[];
  -- By position in the wave, for the others: what is known of them after the claim.
  v_states text[];
  v_known_pids uuid[];
  v_waits int[];
  v_claimed int;
  v_row record;
  v_cursor queen.log_consumers;
  v_job int;
  v_end bigint;
  v_first bigint;
  v_last bigint;
  v_taken int;
  -- The cursors to be moved.
  v_moved int;
  v_moved_pids uuid[];
  v_moved_jobs int[];
  v_moved_firsts bigint[];
  v_moved_ends bigint[];
  v_moved_counts int[];
  v_moved_attempts int[];
  v_moved_leases int[];
begin
  if v_jobs <> any (array[
    coalesce(cardinality(p_tenants), 0), coalesce(cardinality(p_groups), 0), coalesce(cardinality(p_budgets), 0),
    coalesce(cardinality(p_lease_seconds), 0), coalesce(cardinality(p_workers), 0),
    coalesce(cardinality(p_auto_acks), 0), coalesce(cardinality(p_max_partitions), 0),
    coalesce(cardinality(p_sub_modes), 0), coalesce(cardinality(p_sub_froms), 0),
    coalesce(cardinality(p_skip_windows), 0)])
    or v_count <> coalesce(cardinality(p_jobs), 0) then
    raise exception using errcode = 'QPOPM', message = 'QPOPM: the arrays differ in length';
  end if;
  for v_job in 1..v_jobs loop
    if not p_auto_acks[v_job] and coalesce(p_workers[v_job], '') = '' then
      raise exception using errcode = 'QPOP0', message = 'QPOP: a leased pop needs a worker id';
    end if;
    v_left[v_job] := greatest(coalesce(p_budgets[v_job], 1), 1);
    v_partitions_left[v_job] :=
      case when p_max_partitions[v_job] > 0 then p_max_partitions[v_job] else 2147483647 end;
  end loop;
  v_seen := array_fill(false, array[v_count]);

  while v_bytes < c_bytes_max loop
    -- A candidate that is served gives at least one message, so a job needs no more of them at once than its budget.
    v_wave := '{}';
    v_size := 0;
    v_room_job := 0;
    for v_part in 1..v_count loop
      continue when v_seen[v_part];
      if p_jobs[v_part] <> v_room_job then
        v_room_job := p_jobs[v_part];
        v_room := least(v_left[v_room_job], v_partitions_left[v_room_job]);
      end if;
      continue when v_room <= 0;
      v_room := v_room - 1;
      v_seen[v_part] := true;
      v_size := v_size + 1;
      v_wave[v_size] := v_part;
    end loop;
    exit when v_size = 0;

    -- The claim. Whether a cursor is free is tested in the locking command, so that a renewal committed a moment ago is
    -- re-read before the lock is granted.
    v_now := clock_timestamp();
    v_pids := array_fill(null::uuid, array[v_size]);
    v_cursors := '{}';
    v_wanteds := array_fill(null::bigint, array[v_size]);
    v_leases := '{}';
    v_claimed := 0;
    for v_row in
      select key.k, key.id, key.lease_seconds, c.cursor
      from (
        select w.k::int as k, p.id, q.lease_seconds, p_groups[j.job] as consumer_group, p_auto_acks[j.job] as auto_ack
        from unnest(v_wave) with ordinality w(part, k)
        cross join lateral (select p_jobs[w.part] as job offset 0) j
        -- LATERAL with OFFSET 0 makes both columns of a key an index condition, see log_push_multi_v2.
        cross join lateral (
          select x.id,
                 case when p_lease_seconds[j.job] > 0 then p_lease_seconds[j.job] when x.lease_time > 0 then x.lease_time
                   else 60 end as lease_seconds
          from queen.queues x
          where x.tenant_id = p_tenants[j.job] and x.name = p_queues[j.job] and not x.pops_paused
            and coalesce(x.delayed_processing, 0) = 0 and coalesce(x.ttl, 0) = 0 and x.max_deliveries = 0
            and (coalesce(x.window_buffer, 0) = 0 or p_skip_windows[j.job])
          offset 0
        ) q
        cross join lateral (
          select x.id from queen.log_partitions x where x.queue_id = q.id and x.name = p_names[w.part] offset 0
        ) p
        order by p.id, p_groups[j.job], w.k
        offset 0
      ) key
      -- LATERAL once more: statistics of a busy moment say that hardly any cursor is free, and joined, the planner would
      -- then read every cursor there is and look for its candidate.
      cross join lateral (
        select x as cursor
        from queen.log_consumers x
        where x.partition_id = key.id and x.consumer_group = key.consumer_group
          and (x.worker_id is null or x.lease_expires_at is null or x.lease_expires_at < v_now)
          and (x.hold_until is null or x.hold_until <= v_now or key.auto_ack)
          and x.lost_count = 0
        for update skip locked
      ) c
    loop
      continue when v_row.id = v_cursor.partition_id and (v_row.cursor).consumer_group = v_cursor.consumer_group;
      v_cursor := v_row.cursor;
      v_pids[v_row.k] := v_row.id;
      v_cursors[v_row.k] := v_cursor;
      v_wanteds[v_row.k] := v_cursor.committed + 1;
      v_leases[v_row.k] := v_row.lease_seconds;
      v_claimed := v_claimed + 1;
    end loop;
    v_cursor := null;

    -- What is known of the others, in one snapshot taken after the claim attempt. The winner of a lost race may be an
    -- auto-ack pop, which leaves no lease to see: then only the backlog tells.
    if v_claimed < v_size then
      for v_row in
        select w.k::int as k, p.id,
               c.partition_id is null or c.lost_count <> 0 or p.is_special as is_special,
               p.last_offset > c.committed as is_pending,
               greatest(
                 case when c.worker_id is not null and c.worker_id is distinct from p_workers[j.job] then c.lease_expires_at end,
                 case when p.last_offset > c.committed then c.hold_until end) as busy_until
        from unnest(v_wave, v_pids) with ordinality w(part, pid, k)
        cross join lateral (select p_jobs[w.part] as job offset 0) j
        left join lateral (
          select y.id, y.last_offset,
                 x.pops_paused or coalesce(x.delayed_processing, 0) <> 0 or coalesce(x.ttl, 0) <> 0
                   or x.max_deliveries <> 0
                   or coalesce(x.window_buffer, 0) <> 0 and not p_skip_windows[j.job] as is_special
          from queen.queues x
          join queen.log_partitions y on y.queue_id = x.id and y.name = p_names[w.part]
          where x.tenant_id = p_tenants[j.job] and x.name = p_queues[j.job]
          offset 0
        ) p on true
        left join queen.log_consumers c on c.partition_id = p.id and c.consumer_group = p_groups[j.job]
        where w.pid is null
      loop
        v_known_pids[v_row.k] := v_row.id;
        v_waits[v_row.k] := null;
        if v_row.id is null then
          v_states[v_row.k] := 'empty';
        elsif v_row.is_special then
          v_states[v_row.k] := null;
        elsif v_row.busy_until > clock_timestamp() then
          v_states[v_row.k] := 'leased';
          v_waits[v_row.k] := least(
            greatest(ceil(extract(epoch from v_row.busy_until - clock_timestamp()) * 1000), 0), 2147483647)::int;
        elsif v_row.is_pending then
          v_states[v_row.k] := 'leased';
          v_waits[v_row.k] := c_short_wait_ms;
        else
          v_states[v_row.k] := 'empty';
        end if;
      end loop;
    end if;

    v_moved := 0;
    for v_row in
      select w.k::int as k, w.part, w.pid, p.last_offset, s.base_offset, s.end_offset, s.created_at, s.blob
      from unnest(v_wave, v_pids, v_wanteds) with ordinality w(part, pid, wanted, k)
      left join lateral (
        select x.last_offset from queen.log_partitions x where x.id = w.pid offset 0
      ) p on true
      left join lateral (
        -- The head probe of log_pop_v1; whether the segment covers the offset is tested below.
        select x.base_offset, x.end_offset, x.created_at, x.blob
        from queen.log_segments x
        where x.partition_id = w.pid and x.base_offset <= w.wanted
        order by x.base_offset desc
        limit 1
      ) s on true
      order by w.k
    loop
      v_job := p_jobs[v_row.part];
      exit when v_bytes >= c_bytes_max;
      continue when v_left[v_job] <= 0 or v_partitions_left[v_job] <= 0;
      r_part := v_row.part;
      r_state := null;
      r_wait_ms := null;
      r_last_off := null;

      if v_row.pid is null then
        if v_states[v_row.k] is not null then
          r_partition_id := v_known_pids[v_row.k];
          r_base := null;
          r_start_idx := null;
          r_take := null;
          r_msg_count := null;
          r_created_at := null;
          r_blob := null;
          r_attempt := null;
          r_state := v_states[v_row.k];
          r_wait_ms := v_waits[v_row.k];
          return next;
          continue;
        end if;
        v_taken := 0;
        for r_partition_id, r_base, r_start_idx, r_take, r_msg_count, r_created_at, r_blob, r_attempt, r_state,
            r_last_off, r_wait_ms in
          select l.r_partition_id, l.r_base, l.r_start_idx, l.r_take, l.r_msg_count, l.r_created_at, l.r_blob,
                 l.r_attempt, l.r_state, l.r_last_off, l.r_wait_ms
          from queen.log_pop_list_v1(
            p_queues[v_job], p_groups[v_job], array[p_names[v_row.part]], v_left[v_job], p_lease_seconds[v_job],
            p_workers[v_job], p_auto_acks[v_job], 1, p_sub_modes[v_job], p_sub_froms[v_job], p_skip_windows[v_job],
            p_tenants[v_job]) l
        loop
          if r_take is not null then
            v_taken := v_taken + r_take;
            v_bytes := v_bytes + octet_length(r_blob);
          end if;
          return next;
        end loop;
        if v_taken > 0 then
          v_left[v_job] := v_left[v_job] - v_taken;
          v_partitions_left[v_job] := v_partitions_left[v_job] - 1;
        end if;
        continue;
      end if;

      v_cursor := v_cursors[v_row.k];
      r_partition_id := v_row.pid;
      v_taken := 0;
      v_first := null;
      v_last := null;
      if v_row.last_offset > v_cursor.committed then
        if v_row.end_offset > v_cursor.committed then
          v_first := v_cursor.committed + 1;
          r_base := v_row.base_offset;
          r_start_idx := v_first - r_base;
          r_take := least(v_row.end_offset - v_cursor.committed, v_left[v_job]);
          r_msg_count := v_row.end_offset - r_base + 1;
          r_created_at := v_row.created_at;
          r_blob := v_row.blob;
          r_attempt := case
            when p_auto_acks[v_job] then 1
            when v_cursor.attempt_offset = v_first or v_first <= v_cursor.attempt_end then v_cursor.attempt_count + 1
            else 1
          end;
          r_state := 'took';
          r_last_off := v_row.last_offset;
          v_last := v_cursor.committed + r_take;
          v_taken := r_take;
          v_bytes := v_bytes + octet_length(r_blob);
          return next;
        end if;
        -- The forward scan of log_pop_v1.
        if v_taken < v_left[v_job] and v_bytes < c_bytes_max and (v_last is null or v_last < v_row.last_offset) then
          for r_base, v_end, r_created_at, r_blob in
            select s.base_offset, s.end_offset, s.created_at, s.blob
            from queen.log_segments s
            where s.partition_id = v_row.pid and s.base_offset > v_cursor.committed + 1
            order by s.base_offset
            limit v_left[v_job] - v_taken
          loop
            r_start_idx := 0;
            r_msg_count := v_end - r_base + 1;
            r_take := least(r_msg_count, v_left[v_job] - v_taken);
            if v_first is null then
              v_first := r_base;
              r_attempt := case
                when p_auto_acks[v_job] then 1
                when v_cursor.attempt_offset = v_first or v_first <= v_cursor.attempt_end
                  then v_cursor.attempt_count + 1
                else 1
              end;
              r_state := 'took';
              r_last_off := v_row.last_offset;
            else
              r_state := null;
              r_last_off := null;
            end if;
            v_last := r_base + r_take - 1;
            v_taken := v_taken + r_take;
            v_bytes := v_bytes + octet_length(r_blob);
            return next;
            exit when v_taken >= v_left[v_job] or v_bytes >= c_bytes_max;
          end loop;
        end if;
      end if;

      if v_taken > 0 then
        v_left[v_job] := v_left[v_job] - v_taken;
        v_partitions_left[v_job] := v_partitions_left[v_job] - 1;
        v_moved := v_moved + 1;
        v_moved_pids[v_moved] := v_row.pid;
        v_moved_jobs[v_moved] := v_job;
        v_moved_firsts[v_moved] := v_first;
        v_moved_ends[v_moved] := v_last;
        v_moved_counts[v_moved] := v_taken;
        v_moved_attempts[v_moved] := r_attempt;
        v_moved_leases[v_moved] := v_leases[v_row.k];
        continue;
      end if;

      r_base := null;
      r_start_idx := null;
      r_take := null;
      r_msg_count := null;
      r_created_at := null;
      r_blob := null;
      r_attempt := null;
      r_state := 'empty';
      if v_row.last_offset > v_cursor.committed then
        -- The cursor seal of log_pop_v1.
        if not exists (select from queen.log_segments s where s.partition_id = v_row.pid) then
          update queen.log_consumers c
          set committed = v_row.last_offset
          where c.partition_id = v_row.pid and c.consumer_group = p_groups[v_job];
        else
          r_state := 'leased';
          r_wait_ms := c_short_wait_ms;
        end if;
      end if;
      return next;
    end loop;

    if v_moved > 0 then
      update queen.log_consumers c
      set committed = case when p_auto_acks[m.job] then m.upto else c.committed end,
          worker_id = case when p_auto_acks[m.job] then null else p_workers[m.job] end,
          lease_expires_at =
            case when p_auto_acks[m.job] then null else v_now + make_interval(secs => m.lease_seconds) end,
          lease_acquired_at = case when p_auto_acks[m.job] then null else v_now end,
          batch_end = case when p_auto_acks[m.job] then null else m.upto end,
          hold_until = null,
          total_consumed = c.total_consumed + case when p_auto_acks[m.job] then m.taken else 0 end,
          attempt_count = case when p_auto_acks[m.job] then c.attempt_count else m.attempt end,
          attempt_offset = case when p_auto_acks[m.job] then c.attempt_offset else m.first end,
          attempt_end = case when p_auto_acks[m.job] then c.attempt_end else greatest(c.attempt_end, m.upto) end
      from unnest(
        v_moved_pids[1:v_moved], v_moved_jobs[1:v_moved], v_moved_firsts[1:v_moved], v_moved_ends[1:v_moved],
        v_moved_counts[1:v_moved], v_moved_attempts[1:v_moved], v_moved_leases[1:v_moved])
        m(pid, job, first, upto, taken, attempt, lease_seconds)
      where c.partition_id = m.pid and c.consumer_group = p_groups[m.job];
    end if;
  end loop;
end
$$;
