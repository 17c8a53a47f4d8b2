-- The queues whose pushes or pops need a second look: paused ones and those with a maxSize. One row each.
-- Few rows, found through an index that holds nothing else, so every broker can ask once a second.
-- Takes no lock. Called by: the queue-controls cache.
create or replace function queen.queue_controls_v1()
returns table (r_tenant uuid, r_queue text, r_pops_paused boolean, r_pushes_paused boolean, r_max_size int)
language plpgsql stable
as $$
begin
  return query
    select q.tenant_id, q.name::text, q.pops_paused, q.pushes_paused, q.max_queue_size
    from queen.queues q
    where q.pops_paused or q.pushes_paused or q.max_queue_size > 0;
end
$$;
