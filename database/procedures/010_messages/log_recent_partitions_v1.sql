-- The partitions of a tenant that were written since p_since, the one written last first. A null name passes every name;
-- with p_with_letters only partitions that have dead letters.
-- A function of its own because it alone is to be planned anew for every filter, under which a null takes its condition
-- out of the plan; what the message list runs for each partition is planned once.
-- Takes no lock. Called by: list_messages_v1.
create or replace function queen.log_recent_partitions_v1(
  p_queue text,
  p_partition text,
  p_namespace text,
  p_task text,
  p_with_letters boolean,
  p_since timestamptz,
  p_tenant uuid
)
returns table (r_id uuid, r_last_offset bigint, r_txns_start bigint, r_last_write_at timestamptz)
language plpgsql stable
set plan_cache_mode = force_custom_plan
as $$
begin
  return query
    select p.id, p.last_offset, p.txns_start, p.last_write_at
    from queen.queues q
    join queen.log_partitions p on p.queue_id = q.id
    where q.tenant_id = p_tenant
      and (p_queue is null or q.name = p_queue)
      and (p_namespace is null or q.namespace = p_namespace)
      and (p_task is null or q.task = p_task)
      and (p_partition is null or p.name = p_partition)
      and (p_with_letters is not true or p.id in (select d.partition_id from queen.log_dlq d))
      and p.last_offset >= 0
      and p.last_write_at >= p_since
    order by p.last_write_at desc, p.id;
end
$$;
