-- One queue's settings as the broker caches them: one row, or none when the queue does not exist.
-- Takes no lock and never waits. Called by: the queue-config cache (pop), at most once per queue and freshness period.
create or replace function queen.queue_config_v1(p_queue text, p_tenant uuid default '00000000-0000-0000-0000-000000000001')
returns table (
  r_id uuid,
  r_lease_seconds int,
  r_delayed_seconds int,
  r_window_seconds int,
  r_min_pop_wait_ms int,
  r_encryption_enabled boolean
)
language plpgsql stable
as $$
begin
  return query
    select q.id, coalesce(q.lease_time, 60), coalesce(q.delayed_processing, 0), coalesce(q.window_buffer, 0),
           coalesce(q.min_pop_wait_time, 0), coalesce(q.encryption_enabled, false)
    from queen.queues q
    where q.tenant_id = p_tenant and q.name = p_queue;
end
$$;
