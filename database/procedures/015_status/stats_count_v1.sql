-- One step of counting what queues hold: visits queues in the order in which they were visited last, a slice of
-- partitions each, until p_budget is spent (a queue costs 1, a partition 1). What a queue's slices add up to is
-- published in queue_stats when its last one is done.
--   r_visits, r_finished  slices counted, queues published in this step
--   r_done                every queue was visited since p_run_at, and none is in the middle of its walk
-- So a run of any budget costs what it may cost, however many partitions there are: small queues are counted in every
-- run, and a queue of a million partitions over as many runs as that takes, while the others keep their turn.
-- Counting again what did not change is the price of leaving pushes, pops and acks alone: they keep no counters, and
-- an index that told what changed would end HOT updates of every cursor.
-- Locks: the walks it visits, skipping locked ones, so two runs at once share the work. Waits for nobody.
-- Called by: the stats loop, the stats refresh route.
create or replace function queen.stats_count_v1(p_budget int, p_run_at timestamptz)
returns table (r_visits int, r_finished int, r_done boolean)
language plpgsql
as $$
declare
  v_left int := greatest(p_budget, 2);
  v_limit int;
  v_walk queen.queue_walks;
  v_slice record;
  v_old queen.queue_stats;
  v_pushed bigint;
  v_consumed bigint;
begin
  r_visits := 0;
  r_finished := 0;
  r_done := false;
  while v_left > 1 loop
    select w.* into v_walk
    from queen.queue_walks w
    where w.lane = 'count' and (w.is_walking or w.visited_at < p_run_at)
    order by w.visited_at
    limit 1
    for update skip locked;
    if not found then
      r_done := true;
      exit;
    end if;

    v_limit := v_left - 1;
    select count(*) as partitions,
           coalesce(sum(n.r_messages), 0) as messages, coalesce(sum(n.r_pending), 0) as pending,
           coalesce(sum(n.r_processing), 0) as processing, coalesce(sum(n.r_leases), 0) as leases,
           count(*) filter (where n.r_leases > 0) as leased_partitions,
           coalesce(sum(n.r_dead_letters), 0) as dead_letters,
           count(*) filter (where n.r_dead_letters > 0) as dead_partitions,
           coalesce(sum(n.r_expired), 0) as expired, coalesce(sum(n.r_last_offset + 1), 0) as pushed,
           coalesce(sum(n.r_consumed), 0) as consumed,
           min(case when n.r_pending > 0 then
             queen.log_oldest_pending_at_v1(n.r_id, greatest(n.r_worst + 1, n.r_log_start)) end) as oldest_pending_at,
           max(n.r_name) as last_name
    into v_slice
    from queen.partition_counts_v1(v_walk.queue_id, v_walk.after_name, 0, v_limit) n;
    v_left := v_left - 1 - v_slice.partitions;
    r_visits := r_visits + 1;

    v_walk.partitions := v_walk.partitions + v_slice.partitions;
    v_walk.messages := v_walk.messages + v_slice.messages;
    v_walk.pending := v_walk.pending + v_slice.pending;
    v_walk.processing := v_walk.processing + v_slice.processing;
    v_walk.leases := v_walk.leases + v_slice.leases;
    v_walk.leased_partitions := v_walk.leased_partitions + v_slice.leased_partitions;
    v_walk.dead_letters := v_walk.dead_letters + v_slice.dead_letters;
    v_walk.dead_partitions := v_walk.dead_partitions + v_slice.dead_partitions;
    v_walk.expired := v_walk.expired + v_slice.expired;
    v_walk.pushed := v_walk.pushed + v_slice.pushed;
    v_walk.consumed := v_walk.consumed + v_slice.consumed;
    v_walk.oldest_pending_at := least(v_walk.oldest_pending_at, v_slice.oldest_pending_at);

    if v_slice.partitions = v_limit then
      update queen.queue_walks w
      set visited_at = clock_timestamp(), is_walking = true, after_name = v_slice.last_name,
          partitions = v_walk.partitions, messages = v_walk.messages, pending = v_walk.pending,
          processing = v_walk.processing, leases = v_walk.leases, leased_partitions = v_walk.leased_partitions,
          dead_letters = v_walk.dead_letters, dead_partitions = v_walk.dead_partitions, expired = v_walk.expired,
          pushed = v_walk.pushed, consumed = v_walk.consumed, oldest_pending_at = v_walk.oldest_pending_at
      where w.queue_id = v_walk.queue_id and w.lane = 'count';
      continue;
    end if;

    select s.* into v_old from queen.queue_stats s where s.queue_id = v_walk.queue_id;
    update queen.queue_stats s
    set partitions = v_walk.partitions, messages = v_walk.messages, pending = v_walk.pending,
        processing = v_walk.processing, leases = v_walk.leases, leased_partitions = v_walk.leased_partitions,
        dead_letters = v_walk.dead_letters, dead_partitions = v_walk.dead_partitions, expired = v_walk.expired,
        pushed = v_walk.pushed, consumed = v_walk.consumed, oldest_pending_at = v_walk.oldest_pending_at,
        counted_at = clock_timestamp()
    where s.queue_id = v_walk.queue_id;
    update queen.queue_walks w
    set visited_at = clock_timestamp(), is_walking = false, after_name = null, partitions = 0, messages = 0,
        pending = 0, processing = 0, leases = 0, leased_partitions = 0, dead_letters = 0, dead_partitions = 0,
        expired = 0, pushed = 0, consumed = 0, oldest_pending_at = null
    where w.queue_id = v_walk.queue_id and w.lane = 'count';
    r_finished := r_finished + 1;

    -- What was there at the first count of an old queue happened some time, not in this minute. A partition or a group
    -- that was deleted takes its share with it: no minute is negative.
    if v_old.counted_at is not null or exists (
      select from queen.queues q
      where q.id = v_walk.queue_id and q.created_at > clock_timestamp() - interval '5 minutes')
    then
      v_pushed := greatest(v_walk.pushed - v_old.pushed, 0);
      v_consumed := greatest(v_walk.consumed - v_old.consumed, 0);
      if v_pushed + v_consumed > 0 then
        insert into queen.queue_minutes as m (minute, queue_id, pushed, consumed)
        values (date_trunc('minute', clock_timestamp()), v_walk.queue_id, v_pushed, v_consumed)
        on conflict (minute, queue_id) do update
        set pushed = m.pushed + excluded.pushed, consumed = m.consumed + excluded.consumed;
      end if;
    end if;
  end loop;
  return next;
end
$$;
