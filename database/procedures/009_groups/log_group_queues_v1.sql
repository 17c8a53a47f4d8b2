-- The ids of a tenant's queues in which a group has left anything: a cursor, a subscription or a watermark.
-- Takes no lock. Called by: delete_consumer_group_v1, update_consumer_group_subscription_v1.
create or replace function queen.log_group_queues_v1(p_group text, p_tenant uuid)
returns uuid[]
language plpgsql stable
set enable_seqscan = on
as $$
begin
  return array(
    select q.id
    from queen.queues q
    where q.tenant_id = p_tenant and (
      q.id in (select m.queue_id from queen.consumer_groups_metadata m
               where m.tenant_id = p_tenant and m.consumer_group = p_group)
      or q.id in (select w.queue_id from queen.consumer_watermarks w where w.consumer_group = p_group)
      or q.id in (select l.queue_id
                  from queen.log_consumers c
                  join queen.log_partitions l on l.id = c.partition_id
                  where c.consumer_group = p_group))
    order by q.id);
end
$$;
