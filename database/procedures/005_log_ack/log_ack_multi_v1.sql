-- Many positional acks in one transaction:
--   {"ok":true,"results":[{"ok","acked","error"},...]} in input order
-- Promises: each row is judged on its own, as log_ack_at_v1 would (a completion; there is no nack here), and one that is
-- refused does not touch the others. Of two rows for one (partition, group) with different workers at most one passes.
-- How: the cursors are locked in one command and moved in another, instead of two for each.
-- Errors: SQLSTATE QACKM when the arrays disagree in length.
-- Locks: cursor rows, waiting, in ascending (partition id, group): two flushes, or a flush and a renewal, take the
-- same rows in the same order (hazard Z23). Called by: the ack flush.
create or replace function queen.log_ack_multi_v1(
  p_pids text[],
  p_groups text[],
  p_ends bigint[],
  p_workers text[],
  p_counts int[]
)
returns jsonb
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  v_count int := coalesce(cardinality(p_pids), 0);
  v_row record;
  v_cursor queen.log_consumers;
  v_error text;
  v_acked int;
  v_results jsonb[];
  v_moved int := 0;
  v_pids uuid[];
  v_groups text[];
  v_ends bigint[];
  v_counts int[];
begin
  if v_count <> any (array[
    coalesce(cardinality(p_groups), 0), coalesce(cardinality(p_ends), 0), coalesce(cardinality(p_workers), 0),
    coalesce(cardinality(p_counts), 0)]) then
    raise exception using errcode = 'QACKM', message = 'QACKM: the arrays differ in length';
  end if;
  if v_count = 0 then
    return '{"ok":true,"results":[]}';
  end if;

  v_results := array_fill('{"ok":false,"acked":0,"error":"consumer not found"}'::jsonb, array[v_count]);
  if array_position(p_ends, null) is not null then
    for v_ord in 1..v_count loop
      if p_ends[v_ord] is null then
        v_results[v_ord] := '{"ok":false,"acked":0,"error":"position missing"}';
      end if;
    end loop;
  end if;
  for v_row in
    select c.cursor, u.upto, u.worker, u.acked, u.ord
    from (
      select a.pid, a.consumer_group, a.upto, a.worker, a.acked, a.ord::int as ord
      from unnest(p_pids::uuid[], p_groups, p_ends, p_workers, p_counts) with ordinality
        a(pid, consumer_group, upto, worker, acked, ord)
      where a.upto is not null -- passed on, it would be a nack
      order by a.pid, a.consumer_group, a.ord
      offset 0
    ) u
    -- LATERAL: joined, the planner may read all cursors and look for each of them among the acks.
    cross join lateral (
      select x as cursor
      from queen.log_consumers x
      where x.partition_id = u.pid and x.consumer_group = u.consumer_group
      for update
    ) c
  loop
    -- A second row for the same cursor meets what the first one left.
    if v_cursor.partition_id is null
      or v_cursor.partition_id <> (v_row.cursor).partition_id
      or v_cursor.consumer_group <> (v_row.cursor).consumer_group
    then
      v_cursor := v_row.cursor;
    end if;

    -- The clock after the lock: a lease may run out while this waits.
    v_error := case
      when coalesce(v_row.worker, '') <> '' and (
        v_cursor.worker_id is distinct from v_row.worker
        or v_cursor.lease_expires_at is null or v_cursor.lease_expires_at < clock_timestamp())
        then 'invalid or expired lease'
      when v_cursor.batch_end is null then 'no leased batch'
      when v_row.upto > v_cursor.batch_end then 'position beyond leased batch'
    end;
    if v_error is not null then
      v_results[v_row.ord] := jsonb_build_object('ok', false, 'acked', 0, 'error', v_error);
      continue;
    end if;

    v_acked := greatest(coalesce(v_row.acked, 0), 0);
    v_results[v_row.ord] := jsonb_build_object('ok', true, 'acked', v_acked, 'error', null);
    v_moved := v_moved + 1;
    v_pids[v_moved] := v_cursor.partition_id;
    v_groups[v_moved] := v_cursor.consumer_group;
    v_ends[v_moved] := v_row.upto;
    v_counts[v_moved] := v_acked;
    v_cursor.worker_id := null;
    v_cursor.lease_expires_at := null;
    v_cursor.batch_end := null;
  end loop;

  -- A lease that is over has no batch left to be acked, so no cursor is here twice.
  if v_moved > 0 then
    update queen.log_consumers c
    set committed = greatest(c.committed, m.upto), worker_id = null, lease_expires_at = null, batch_end = null,
        total_consumed = c.total_consumed + m.acked,
        batch_retry_count = case when m.upto = c.batch_end then 0 else c.batch_retry_count end,
        attempt_offset = case when m.upto = c.batch_end then null else c.attempt_offset end,
        attempt_end = case when m.upto = c.batch_end then null else c.attempt_end end,
        attempt_count = case when m.upto = c.batch_end then 0 else c.attempt_count end
    from unnest(v_pids, v_groups, v_ends, v_counts) m(pid, consumer_group, upto, acked)
    where c.partition_id = m.pid and c.consumer_group = m.consumer_group;
  end if;
  return jsonb_build_object('ok', true, 'results', to_jsonb(v_results));
end
$$;
