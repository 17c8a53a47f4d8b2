-- log_retention_step_v1 for messages that have waited too long (maxWaitTimeSeconds): they go for every group, read or
-- not, leased or not, and none becomes a dead letter. In the history as max_wait_time_eviction.
-- Locks, result: those of log_retention_step_v1. Called by: the retention loop.
create or replace function queen.log_evict_max_wait_step_v1(p_pid uuid, p_cutoff timestamptz, p_max_rows int)
returns jsonb
language plpgsql
as $$
begin
  return queen.log_retention_step_v1(p_pid, p_cutoff, null, p_max_rows, 'max_wait_time_eviction');
end
$$;
