-- log_partition_has_pending_v1 for many questions at once: one row each, in input order.
-- The question is a subquery on purpose: joined, the planner could read whole tables for five hundred partitions.
-- Errors: SQLSTATE QPEND when the arrays differ in length.
-- Takes no lock. Called by: the single-partition route, for pops that look at the same time.
create or replace function queen.log_partitions_have_pending_v1(
  p_queues text[],
  p_partitions text[],
  p_groups text[],
  p_tenants uuid[]
)
returns table (r_pending boolean)
language plpgsql stable
as $$
begin
  if coalesce(cardinality(p_queues), 0) <> any (array[
    coalesce(cardinality(p_partitions), 0), coalesce(cardinality(p_groups), 0), coalesce(cardinality(p_tenants), 0)]) then
    raise exception using errcode = 'QPEND', message = 'QPEND: the arrays differ in length';
  end if;
  return query
  select coalesce(
    (
      select p.last_offset > greatest(c.committed, p.log_start - 1)
      from queen.queues q
      join queen.log_partitions p on p.queue_id = q.id and p.name = a.partition
      join queen.log_consumers c on c.partition_id = p.id and c.consumer_group = a.consumer_group
      where q.tenant_id = a.tenant and q.name = a.queue
    ), true)
  from unnest(p_queues, p_partitions, p_groups, p_tenants) with ordinality
    a(queue, partition, consumer_group, tenant, ord)
  order by a.ord;
end
$$;
