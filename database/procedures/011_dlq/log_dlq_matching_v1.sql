-- The dead letters of a tenant that pass a filter; a null passes everything.
--   p_from, p_to  half open: failed at or after p_from and before p_to, so that neighbouring ranges share nothing
-- A letter whose partition is gone is not listed: nothing could be replayed to where it came from.
-- SQL and not plpgsql, so that it is inlined: its callers add order and limit, and the planner sees one query. They set
-- plan_cache_mode = force_custom_plan, under which every null parameter takes its condition out of the plan.
-- Takes no lock. Called by: the other procedures of this family.
create or replace function queen.log_dlq_matching_v1(
  p_queue text,
  p_partition text,
  p_group text,
  p_from timestamptz,
  p_to timestamptz,
  p_tenant uuid
)
returns table (
  r_id uuid,
  r_failed_at timestamptz,
  r_partition_id uuid,
  r_queue text,
  r_partition text
)
language sql stable
as $$
  select d.id, d.failed_at, d.partition_id, q.name::text, p.name
  from queen.log_dlq d
  join queen.log_partitions p on p.id = d.partition_id
  join queen.queues q on q.id = p.queue_id
  where q.tenant_id = p_tenant
    and (p_queue is null or q.name = p_queue)
    and (p_partition is null or p.name = p_partition)
    and (p_group is null or d.consumer_group = p_group)
    and (p_from is null or d.failed_at >= p_from)
    and (p_to is null or d.failed_at < p_to)
$$;
