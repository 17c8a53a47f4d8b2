-- How many messages a queue holds that its slowest group has not finished (all retained ones while it has no group):
-- what maxSize bounds. Null for an unknown queue. Counted for up to 5,000 partitions, else as last counted, so that
-- asking once a second stays cheap whatever the queue's size.
-- Takes no lock. Called by: push admission, for queues with a maxSize, at most once a second and queue.
create or replace function queen.queue_backlog_v1(
  p_queue text,
  p_tenant uuid default '00000000-0000-0000-0000-000000000001'
)
returns bigint
language plpgsql stable
as $$
begin
  return (
    select n.r_pending
    from queen.queues q
    cross join lateral queen.queue_counts_v1(q.id, 5000) n
    where q.tenant_id = p_tenant and q.name = p_queue);
end
$$;
