-- Completions by transaction id, of many cursors in one transaction:
--   {"ok":true,"results":[answer, ...]} in input order, each as log_ack_by_hash_v1 gives it
-- p_pids, p_groups, p_workers, p_counts: one per ack; p_hashes: p_counts[1] hashes of the first, then those of the second, …
-- Promises: each ack means what it would mean alone, all its items done (there is no signal here), and one that is
-- refused does not touch the others. Of two for one cursor the later sees what the first one did.
-- Errors: SQLSTATE QACKM when the arrays disagree. Whatever PostgreSQL refuses of one ack undoes all: its caller sends
-- each again alone.
-- Locks: cursor rows, waiting, in ascending (partition id, group), as log_ack_multi_v1 does (hazard Z23).
-- Called by: the ack flush, for batches whose positions this broker does not know.
create or replace function queen.log_ack_by_hash_multi_v1(
  p_pids text[],
  p_groups text[],
  p_workers text[],
  p_counts int[],
  p_hashes bytea[]
)
returns jsonb
language plpgsql
as $$
declare
  v_count int := coalesce(cardinality(p_pids), 0);
  v_row record;
  v_results jsonb[];
begin
  if v_count <> any (array[
      coalesce(cardinality(p_groups), 0), coalesce(cardinality(p_workers), 0), coalesce(cardinality(p_counts), 0)])
    or coalesce(cardinality(p_hashes), 0) <> (select coalesce(sum(n), 0) from unnest(p_counts) n) then
    raise exception using errcode = 'QACKM', message = 'QACKM: the arrays differ in length';
  end if;
  if v_count = 0 then
    return '{"ok":true,"results":[]}';
  end if;

  v_results := array_fill(null::jsonb, array[v_count]);
  for v_row in
    select a.pid::uuid as pid, a.consumer_group, a.worker, a.ord::int as ord, a.n,
           (sum(a.n) over (order by a.ord) - a.n)::int as hashes_before
    from unnest(p_pids, p_groups, p_workers, p_counts) with ordinality a(pid, consumer_group, worker, n, ord)
    order by 1, a.consumer_group, a.ord
  loop
    v_results[v_row.ord] := queen.log_ack_by_hash_v1(
      v_row.pid, v_row.consumer_group, v_row.worker,
      p_hashes[v_row.hashes_before + 1 : v_row.hashes_before + v_row.n], null);
  end loop;
  return jsonb_build_object('ok', true, 'results', to_jsonb(v_results));
end
$$;
