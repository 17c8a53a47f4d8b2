-- True when the bulk seed of (queue, group) is known to have run: the marker row and the seed commit together, so
-- its presence is proof (storage 2.6). False also when the queue does not exist.
-- Takes no lock and never waits. Called by: the serve path, once per (queue, group) until it is true.
create or replace function queen.log_group_seeded_v1(p_queue text, p_group text, p_tenant uuid default '00000000-0000-0000-0000-000000000001')
returns boolean
language plpgsql stable
as $$
begin
  return exists (
    select 1
    from queen.queues q
    join queen.consumer_groups_metadata m
      on m.queue_id = q.id and m.tenant_id = p_tenant and m.consumer_group = p_group
     and m.partition_name = '' and m.namespace = '' and m.task = ''
    where q.tenant_id = p_tenant and q.name = p_queue);
end
$$;
