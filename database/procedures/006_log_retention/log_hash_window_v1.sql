-- How long a hash row of a queue stays after it was written, at the least: the dedup window, the completed retention,
-- 900 seconds, whichever is longest. Longer than this it stays as long as its segment.
-- Takes no lock. Called by: log_retention_step_v1, log_txns_work_v1.
create or replace function queen.log_hash_window_v1(p_queue_id uuid)
returns interval
language plpgsql stable
as $$
begin
  return (
    select make_interval(
      secs => greatest(q.dedup_window_seconds, coalesce(q.completed_retention_seconds, 0), 900))
    from queen.queues q
    where q.id = p_queue_id);
end
$$;
