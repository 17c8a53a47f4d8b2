-- The partitions whose oldest unconsumed message is older than p_min_lag_seconds (strictly), worst first:
--   [{"consumer_group","queue_name","partition_name","partition_id","worker_id","offset_lag","time_lag_seconds","lag_hours",
--     "oldest_unconsumed_at","last_consumed_at":null}]
-- "worker_id" is who leased it last, if the lease was not given back. At most p_limit after p_offset.
-- Reads every cursor of the tenant, in whatever way is cheapest. Takes no lock. Called by: the lagging route.
create or replace function queen.get_lagging_partitions_v1(
  p_min_lag_seconds int default 0,
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
    select coalesce(jsonb_agg(
      jsonb_build_object(
        'consumer_group', b.consumer_group, 'queue_name', b.queue, 'partition_name', b.partition,
        'partition_id', b.partition_id, 'worker_id', b.worker_id, 'offset_lag', b.lag,
        'time_lag_seconds', b.lag_seconds, 'lag_hours', round(b.lag_seconds / 3600.0, 2),
        'oldest_unconsumed_at', queen.log_utc_iso_ms(b.oldest), 'last_consumed_at', null)
      order by b.oldest, b.partition_id, b.consumer_group), '[]')
    from (
      select
        o.*, floor(extract(epoch from v_now - o.oldest))::bigint as lag_seconds
      from (
        select
          c.consumer_group, q.name as queue, l.name as partition, c.partition_id, c.worker_id,
          greatest(l.last_offset - greatest(c.committed, l.log_start - 1), 0) as lag,
          queen.log_oldest_pending_at_v1(c.partition_id, greatest(c.committed + 1, l.log_start)) as oldest
        from queen.queues q
        join queen.log_partitions l on l.queue_id = q.id
        join queen.log_consumers c on c.partition_id = l.id
        where q.tenant_id = p_tenant and l.last_offset > greatest(c.committed, l.log_start - 1)
      ) o
      where o.oldest < v_now - make_interval(secs => p_min_lag_seconds)
      order by o.oldest, o.partition_id, o.consumer_group
      limit p_limit offset p_offset
    ) b);
end
$$;
