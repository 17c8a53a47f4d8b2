-- log_partition_cleanup_step_v1 with the cutoff so many days ago by this server's clock, at least one.
-- Locks, result: those of log_partition_cleanup_step_v1. Called by: the retention loop.
create or replace function queen.log_partition_cleanup_v1(p_days int, p_max_rows int)
returns jsonb
language plpgsql
as $$
begin
  return queen.log_partition_cleanup_step_v1(
    clock_timestamp() - make_interval(days => greatest(p_days, 1)), p_max_rows);
end
$$;
