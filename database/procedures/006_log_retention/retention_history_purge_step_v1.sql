-- Deletes up to p_max_rows rows of the retention history older than p_days days; the number that went.
-- Locks: those rows, skipping locked ones. Called by: the retention loop.
create or replace function queen.retention_history_purge_step_v1(p_days int, p_max_rows int)
returns int
language plpgsql
as $$
declare
  v_before timestamptz := clock_timestamp() - make_interval(days => p_days); -- a value, for the index
  v_rows int;
begin
  delete from queen.retention_history h
  where h.id in (
    select o.id
    from queen.retention_history o
    where o.executed_at < v_before
    order by o.executed_at
    limit greatest(coalesce(p_max_rows, 1), 1)
    for update skip locked);
  get diagnostics v_rows = row_count;
  return v_rows;
end
$$;
