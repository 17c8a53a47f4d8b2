-- What one group may take from one partition right now: claims it, and returns the segments to cut messages from,
-- ascending. Of a segment's r_msg_count frames the caller gets [r_start_idx, r_start_idx + r_take).
-- Promises
--   At most p_budget messages (less than 1 acts as 1), consecutive offsets from the cursor on; a gap that retention
--   left at the cursor is stepped over, it is not an error.
--   Auto-ack: the cursor has moved. Otherwise the batch is leased to p_worker for p_lease_seconds, else for the
--   queue's lease time, else 60 s, and the cursor has not moved.
--   No row means: unknown partition (nothing is created), someone else has it, it is held back, it is paused, or it
--   is empty.
--   A refused batch rests until its hold_until, and with it everything behind it; auto-ack, which cannot refuse, does
--   not wait for that. Messages older than the queue's ttl are stepped over and counted.
--   With max_deliveries a batch whose lease ran out may come back as one message, see log_lost_lease_v1.
-- Locks: the cursor row, FOR UPDATE SKIP LOCKED; when it is missing, those of log_create_cursor_v1.
-- Never waits for anyone. A wildcard pop keeps its transaction, and so all its cursors, through its whole candidate
-- loop, and another of them may be going the other way.
-- Called by: all pop routes, once per partition.
create or replace function queen.log_pop_v1(
  p_queue text,
  p_partition text,
  p_group text,
  p_budget int,
  p_lease_seconds int,
  p_worker text,
  p_auto_ack boolean default false,
  p_sub_mode text default 'all',
  p_sub_from text default '',
  p_skip_window_debounce boolean default false,
  p_tenant uuid default '00000000-0000-0000-0000-000000000001'
)
returns table (
  r_base bigint,
  r_start_idx int,
  r_take int,
  r_msg_count int,
  r_created_at timestamptz,
  r_blob bytea
)
language plpgsql
as $$
declare
  -- Stored bytes after which the scan takes no further segment: a thousand large messages asked for in one pop would
  -- otherwise meet in the broker's memory, once for each client (field case A08). One segment always goes out.
  c_bytes_max constant bigint := 16777216;
  v_now timestamptz := clock_timestamp();
  v_budget int := greatest(coalesce(p_budget, 1), 1);
  v_pid uuid;
  v_queue_id uuid;
  v_last_offset bigint;
  v_log_start bigint;
  v_lease_seconds int;
  v_delayed int;
  v_window int;
  v_paused boolean;
  v_ttl int;
  v_max_deliveries int;
  v_lost_end bigint;
  v_lost_count int;
  v_newest timestamptz;
  v_deadline timestamptz := 'infinity';
  v_committed bigint;
  v_wanted bigint;
  v_end bigint;
  v_first bigint;
  v_last bigint;
  v_taken int := 0;
  v_bytes bigint := 0;
begin
  if not p_auto_ack and coalesce(p_worker, '') = '' then
    raise exception using errcode = 'QPOP0', message = 'QPOP: a leased pop needs a worker id';
  end if;

  select p.id, p.queue_id, p.last_offset, p.log_start,
         coalesce(q.delayed_processing, 0), coalesce(q.window_buffer, 0),
         case when p_lease_seconds > 0 then p_lease_seconds when q.lease_time > 0 then q.lease_time else 60 end,
         q.pops_paused, coalesce(q.ttl, 0), q.max_deliveries
  into v_pid, v_queue_id, v_last_offset, v_log_start, v_delayed, v_window, v_lease_seconds,
       v_paused, v_ttl, v_max_deliveries
  from queen.queues q
  join queen.log_partitions p on p.queue_id = q.id and p.name = p_partition
  where q.tenant_id = p_tenant and q.name = p_queue;
  if not found or v_paused then
    return;
  end if;

  -- Quiet window, before the cursor is touched: a partition written within it delivers nothing.
  if v_window > 0 and not p_skip_window_debounce then
    select s.created_at into v_newest
    from queen.log_segments s
    where s.partition_id = v_pid
    order by s.base_offset desc
    limit 1;
    if v_newest > v_now - make_interval(secs => v_window) then
      return;
    end if;
  end if;

  -- Claim first, create only what is truly missing: an insert on every pop made concurrent pops wait for each
  -- other's transactions, in random order, which ended in deadlock storms (hazard Z1). The lease test stands in the
  -- locking statement, so that a renewal committed a moment ago is re-read before the lock is granted.
  for v_try in 1..2 loop
    select c.committed, case when c.worker_id is not null then c.batch_end end, c.lost_count
    into v_committed, v_lost_end, v_lost_count
    from queen.log_consumers c
    where c.partition_id = v_pid and c.consumer_group = p_group
      and (c.worker_id is null or c.lease_expires_at is null or c.lease_expires_at < v_now)
      and (c.hold_until is null or c.hold_until <= v_now or p_auto_ack)
    for update skip locked;
    exit when found;
    if v_try = 2 then
      return;
    end if;

    -- Present: leased, on hold, or another pop has it this moment. Missing: first contact of this group and partition.
    perform from queen.log_consumers c where c.partition_id = v_pid and c.consumer_group = p_group;
    if found then
      return;
    end if;
    if not queen.log_create_cursor_v1(
      v_pid, v_queue_id, p_group, v_log_start, v_last_offset, p_sub_mode, p_sub_from, p_tenant) then
      return;
    end if;
  end loop;

  -- A group that has caught up reads no segment. v_last_offset may be a moment old: what came since stays pending.
  if v_last_offset <= v_committed then
    return;
  end if;

  if v_ttl > 0 then
    v_committed := queen.log_skip_expired_v1(
      v_pid, p_group, v_committed, v_log_start, v_last_offset, v_now - make_interval(secs => v_ttl));
    if v_last_offset <= v_committed then
      return;
    end if;
  end if;
  if v_max_deliveries > 0 and not p_auto_ack and (v_lost_end is not null or v_lost_count <> 0) then
    v_budget := least(v_budget, queen.log_lost_lease_v1(v_pid, p_group, v_max_deliveries));
  end if;

  v_wanted := v_committed + 1;
  if v_delayed > 0 then
    v_deadline := v_now - make_interval(secs => v_delayed);
  end if;

  -- Head probe: one backward index step. The covering test comes after it; inside the query a miss would walk the
  -- whole partition, and if the nearest segment does not cover the offset, no earlier one can.
  select s.base_offset, s.end_offset, s.created_at, s.blob
  into r_base, v_end, r_created_at, r_blob
  from queen.log_segments s
  where s.partition_id = v_pid and s.base_offset <= v_wanted
  order by s.base_offset desc
  limit 1;
  if v_end >= v_wanted then
    if r_created_at > v_deadline then
      return; -- held back; created_at never decreases, so everything behind it is too
    end if;
    r_start_idx := v_wanted - r_base;
    r_take := least(v_end - v_wanted + 1, v_budget);
    r_msg_count := v_end - r_base + 1;
    v_first := v_wanted;
    v_last := v_wanted + r_take - 1;
    v_taken := r_take;
    v_bytes := octet_length(r_blob);
    return next;
  end if;

  -- Forward scan. The loop is a cursor: leaving it stops the index walk, so a deep backlog costs what is delivered.
  -- The LIMIT never cuts anything off (a segment holds at least one message); it tells the planner that few rows are
  -- wanted, or on a partition that fills the table it would sort all of it.
  if v_taken < v_budget and v_bytes < c_bytes_max and (v_last is null or v_last < v_last_offset) then
    for r_base, v_end, r_created_at, r_blob in
      select s.base_offset, s.end_offset, s.created_at, s.blob
      from queen.log_segments s
      where s.partition_id = v_pid and s.base_offset > v_wanted
      order by s.base_offset
      limit v_budget - v_taken
    loop
      exit when r_created_at > v_deadline;
      r_start_idx := 0;
      r_msg_count := v_end - r_base + 1;
      r_take := least(r_msg_count, v_budget - v_taken);
      v_first := coalesce(v_first, r_base);
      v_last := r_base + r_take - 1;
      v_taken := v_taken + r_take;
      v_bytes := v_bytes + octet_length(r_blob);
      return next;
      exit when v_taken >= v_budget or v_bytes >= c_bytes_max;
    end loop;
  end if;

  if v_taken = 0 then
    -- Cursor seal. Retention has removed every segment, so nothing up to v_last_offset can ever be delivered; left
    -- alone the partition would look pending for ever (hazard Z7). Only when it holds no segment at all: held-back
    -- segments are no reason. A push since the first read got a higher offset and stays pending.
    if not exists (select from queen.log_segments s where s.partition_id = v_pid) then
      update queen.log_consumers c
      set committed = v_last_offset
      where c.partition_id = v_pid and c.consumer_group = p_group;
    end if;
    return;
  end if;

  if p_auto_ack then
    update queen.log_consumers c
    set committed = v_last, worker_id = null, lease_expires_at = null, lease_acquired_at = null, batch_end = null,
        hold_until = null, total_consumed = c.total_consumed + v_taken
    where c.partition_id = v_pid and c.consumer_group = p_group;
  else
    -- A batch that starts where the last one started, or anywhere inside what was handed out before, is a
    -- redelivery; anything else is fresh work.
    update queen.log_consumers c
    set worker_id = p_worker,
        lease_expires_at = v_now + make_interval(secs => v_lease_seconds),
        lease_acquired_at = v_now,
        batch_end = v_last,
        hold_until = null,
        attempt_count = case
          when c.attempt_offset = v_first or v_first <= c.attempt_end then c.attempt_count + 1
          else 1
        end,
        attempt_offset = v_first,
        attempt_end = greatest(c.attempt_end, v_last)
    where c.partition_id = v_pid and c.consumer_group = p_group;
  end if;
end
$$;
