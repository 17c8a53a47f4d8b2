-- The queue and name of a partition, with the tenant they belong to; no row when there is no such partition.
-- Takes no lock and never waits. Called by: the ack path, once per partition that this broker neither handed out nor
-- looked up before, so that the ack reaches the queue's ring and gate.
create or replace function queen.partition_queue_v1(p_pid uuid)
returns table (r_tenant uuid, r_queue text, r_partition text)
language plpgsql stable
as $$
begin
  return query
    select q.tenant_id, q.name::text, p.name
    from queen.log_partitions p
    join queen.queues q on q.id = p.queue_id
    where p.id = p_pid;
end
$$;
