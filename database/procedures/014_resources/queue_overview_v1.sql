-- The queues of a tenant with their counts, one row each. Partitions and messages are counted now for queues of up
-- to 10,000 partitions, everything else is as last counted by the stats loop (queue_stats): reading every cursor for
-- a list that dashboards poll would cost more than the messages themselves.
-- r_pending of a queue never counted yet is all it holds. r_counted_at is null then.
-- Reads the partitions of all small queues in whatever way is cheapest. Takes no lock.
-- Called by: get_queues_v2, get_namespaces_v2, get_tasks_v2, get_system_overview_v3, get_status_v3,
-- get_status_queues_v2.
create or replace function queen.queue_overview_v1(p_tenant uuid)
returns table (
  r_id uuid,
  r_name text,
  r_namespace text,
  r_task text,
  r_created_at timestamptz,
  r_pops_paused boolean,
  r_pushes_paused boolean,
  r_partitions bigint,
  r_messages bigint,
  r_pending bigint,
  r_processing bigint,
  r_dead_letters bigint,
  r_expired bigint,
  r_consumed bigint,
  r_segments bigint,
  r_retained_bytes bigint,
  r_oldest_pending_at timestamptz,
  r_counted_at timestamptz
)
language plpgsql stable
set enable_seqscan = on
as $$
begin
  return query
    select n.id, n.name::text, coalesce(n.namespace, '')::text, coalesce(n.task, '')::text, n.created_at, n.pops_paused,
           n.pushes_paused, n.partitions, n.messages, least(n.pending, n.messages),
           least(n.processing, n.pending, n.messages), n.dead_letters, n.expired, n.consumed,
           case when n.messages > 0 then n.segments else 0 end,
           case when n.messages > 0 then n.retained_bytes else 0 end,
           case when n.pending > 0 then n.oldest_pending_at end, n.counted_at
    from (
      select q.*,
             case when s.partitions > 10000 then s.partitions else coalesce(l.partitions, 0) end as partitions,
             case when s.partitions > 10000 then s.messages else coalesce(l.messages, 0) end as messages,
             case when s.counted_at is null then coalesce(l.messages, 0) else s.pending end as pending,
             coalesce(s.processing, 0) as processing, coalesce(s.dead_letters, 0) as dead_letters,
             coalesce(s.expired, 0) as expired, coalesce(s.consumed, 0) as consumed,
             coalesce(s.segments, 0) as segments, coalesce(s.retained_bytes, 0) as retained_bytes,
             s.oldest_pending_at, s.counted_at
      from queen.queues q
      left join queen.queue_stats s on s.queue_id = q.id
      left join (
        select p.queue_id, count(*) as partitions, sum(p.last_offset - p.log_start + 1)::bigint as messages
        from queen.queues x
        left join queen.queue_stats y on y.queue_id = x.id
        join queen.log_partitions p on p.queue_id = x.id
        where x.tenant_id = p_tenant and coalesce(y.partitions, 0) <= 10000
        group by p.queue_id
      ) l on l.queue_id = q.id
      where q.tenant_id = p_tenant
    ) n;
end
$$;
