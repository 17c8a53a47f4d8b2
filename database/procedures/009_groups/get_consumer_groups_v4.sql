-- Every group of a tenant in every queue it has a cursor in, ordered by group and queue:
--   [{"name","topics":[queue],"queueName","members","partitionCursors","partitionsWithLag","totalLag","maxTimeLag",
--     "state","storage":"segments","subscriptionMode":null,"subscriptionTimestamp":null,"subscriptionCreatedAt":null}]
-- "members" are cursors, not processes. Lag is exact arithmetic over offsets; only where there is some, the age of the
-- oldest message behind is looked up (seconds, by this server's clock).
-- "state": Lagging beyond 300 s, else Stable once anything was consumed, else Dead.
-- Reads every cursor of the tenant, in whatever way is cheapest. Takes no lock. Called by: the group list route.
create or replace function queen.get_consumer_groups_v4(
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
        'name', g.consumer_group, 'topics', jsonb_build_array(g.queue), 'queueName', g.queue,
        'members', g.cursors, 'partitionCursors', g.cursors, 'partitionsWithLag', g.behind, 'totalLag', g.lag,
        'maxTimeLag', g.lag_seconds,
        'state', case when g.lag_seconds > 300 then 'Lagging' when g.consumed > 0 then 'Stable' else 'Dead' end,
        'storage', 'segments',
        'subscriptionMode', null, 'subscriptionTimestamp', null, 'subscriptionCreatedAt', null)
      order by g.consumer_group, g.queue), '[]')
    from (
      select
        n.consumer_group, n.queue,
        count(*) as cursors,
        count(*) filter (where n.lag > 0) as behind,
        sum(n.lag) as lag,
        sum(n.total_consumed) as consumed,
        coalesce(max(case when n.lag > 0 then
          floor(extract(epoch from v_now - queen.log_oldest_pending_at_v1(n.partition_id, n.wanted)))
        end), 0)::bigint as lag_seconds
      from (
        select
          c.consumer_group, q.name as queue, c.partition_id, c.total_consumed,
          greatest(c.committed + 1, l.log_start) as wanted,
          greatest(l.last_offset - greatest(c.committed, l.log_start - 1), 0) as lag
        from queen.queues q
        join queen.log_partitions l on l.queue_id = q.id
        join queen.log_consumers c on c.partition_id = l.id
        where q.tenant_id = p_tenant
      ) n
      group by n.consumer_group, n.queue
    ) g);
end
$$;
