-- A group's cursors by queue:
--   {queue: {"partitions":[{"partition","workerId","lastConsumedAt":null,"totalConsumed","offsetLag","timeLagSeconds",
--                           "leaseActive"}],"partitionsTotal"}}
-- Of each queue at most p_limit partitions after p_offset, by name; "partitionsTotal" counts them all. An unknown group
-- gives {}. "workerId" is who leased it last, if the lease was not given back; "leaseActive" says whether it still runs.
-- Reads every cursor of the group, in whatever way is cheapest. Takes no lock. Called by: the group detail route.
create or replace function queen.get_consumer_group_details_v1(
  p_consumer_group text,
  p_limit int default 1000,
  p_offset int default 0,
  p_tenant uuid default '00000000-0000-0000-0000-000000000001'
)
returns jsonb
language plpgsql stable
set enable_seqscan = on
as $$
declare
  v_now timestamptz := clock_timestamp();
begin
  return (
    select coalesce(jsonb_object_agg(
      g.queue, jsonb_build_object('partitions', g.partitions, 'partitionsTotal', g.total)), '{}')
    from (
      select
        n.queue, max(n.total) as total,
        coalesce(jsonb_agg(
          jsonb_build_object(
            'partition', n.partition, 'workerId', n.worker_id, 'lastConsumedAt', null,
            'totalConsumed', n.total_consumed, 'offsetLag', n.lag,
            'timeLagSeconds', case when n.lag > 0 then
              floor(extract(epoch from v_now - queen.log_oldest_pending_at_v1(n.partition_id, n.wanted)))::bigint
            else 0 end,
            'leaseActive', n.worker_id is not null and coalesce(n.lease_expires_at >= v_now, false))
          order by n.place) filter (where n.place > p_offset and n.place <= p_offset::bigint + p_limit), '[]')
          as partitions
      from (
        select
          q.name as queue, l.name as partition, c.partition_id, c.worker_id, c.lease_expires_at, c.total_consumed,
          greatest(c.committed + 1, l.log_start) as wanted,
          greatest(l.last_offset - greatest(c.committed, l.log_start - 1), 0) as lag,
          row_number() over (partition by q.id order by l.name) as place,
          count(*) over (partition by q.id) as total
        from queen.queues q
        join queen.log_partitions l on l.queue_id = q.id
        join queen.log_consumers c on c.partition_id = l.id and c.consumer_group = p_consumer_group
        where q.tenant_id = p_tenant
      ) n
      group by n.queue
    ) g);
end
$$;
