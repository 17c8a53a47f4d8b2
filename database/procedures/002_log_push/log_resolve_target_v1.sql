-- The partition a push goes to and its queue's dedup window in seconds, creating queue and partition when they are
-- missing. No row when that is impossible: an empty queue name, a null name, or a queue deleted meanwhile.
-- Locks: unique keys of queue and partition, only while creating them; it may wait there for another creator of the
-- same name. Called by: log_push_one_v1, before it holds any lock.
create or replace function queen.log_resolve_target_v1(p_queue text, p_partition text, p_tenant uuid)
returns table (r_partition_id uuid, r_window int)
language plpgsql
as $$
declare
  v_queue_id uuid;
begin
  for v_try in 1..2 loop
    return query
      select p.id, q.dedup_window_seconds
      from queen.queues q
      join queen.log_partitions p on p.queue_id = q.id and p.name = p_partition
      where q.tenant_id = p_tenant and q.name = p_queue;
    if found or v_try = 2 then
      return;
    end if;

    v_queue_id := queen.provision_queue_v1(p_queue, p_tenant);
    -- Selecting the queue FOR KEY SHARE instead of naming its id: while the queue is being deleted this waits and
    -- then inserts nothing, where the foreign key would fail.
    insert into queen.log_partitions (queue_id, name)
    select q.id, p_partition
    from queen.queues q
    where q.id = v_queue_id and p_partition is not null
    for key share
    on conflict on constraint log_partitions_queue_name_uk do nothing;
  end loop;
end
$$;
