-- Many positional acks in one transaction:
--   {"ok":true,"results":[{"ok","acked","error"},...]} in input order
-- Promises: each row is judged on its own by log_ack_at_v1 (a completion; there is no nack here), and one that is
-- refused does not touch the others. Of two rows for one (partition, group) with different workers at most one passes.
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
as $$
declare
  v_count int := coalesce(cardinality(p_pids), 0);
  v_row record;
  v_result jsonb;
  v_results jsonb[];
begin
  if v_count <> any (array[
    coalesce(cardinality(p_groups), 0), coalesce(cardinality(p_ends), 0), coalesce(cardinality(p_workers), 0),
    coalesce(cardinality(p_counts), 0)]) then
    raise exception using errcode = 'QACKM', message = 'QACKM: the arrays differ in length';
  end if;
  if v_count = 0 then
    return '{"ok":true,"results":[]}';
  end if;

  v_results := array_fill(null::jsonb, array[v_count]);
  for v_row in
    select u.pid::uuid as partition_id, u.consumer_group, u.upto, u.worker, u.acked, u.ord::int as ord
    from unnest(p_pids, p_groups, p_ends, p_workers, p_counts) with ordinality
      u(pid, consumer_group, upto, worker, acked, ord)
    order by u.pid::uuid, u.consumer_group, u.ord
  loop
    if v_row.upto is null then
      -- Passed on, it would be a nack.
      v_result := '{"ok":false,"error":"position missing"}';
    else
      v_result := queen.log_ack_at_v1(
        v_row.partition_id, v_row.consumer_group, v_row.worker, v_row.upto, true, v_row.acked);
    end if;
    v_results[v_row.ord] := jsonb_build_object(
      'ok', v_result -> 'ok', 'acked', coalesce(v_result -> 'acked', '0'), 'error', v_result -> 'error');
  end loop;
  return jsonb_build_object('ok', true, 'results', to_jsonb(v_results));
end
$$;
