-- Whether a discovery pop is worth its permit: some matching queue does not know the group yet (also when it has no
-- partition; the first pop registers the group there), or some partition of one holds something retained above the
-- group's cursor and the queue is not paused. Queue mode needs no registration. False is definitive, true may be stale.
-- Sequential scans are off for the reason given in log_pop_candidates_v1.
-- Takes no lock. Called by: the discovery route, before it takes a permit.
create or replace function queen.log_discover_has_pending_v1(
  p_namespace text,
  p_task text,
  p_group text,
  p_tenant uuid default '00000000-0000-0000-0000-000000000001'
)
returns boolean
language plpgsql stable
set enable_seqscan = off
as $$
declare
  v_any_time timestamptz := '-infinity'; -- always true, see log_has_pending_v1
begin
  return exists (
    select
    from queen.queues q
    where q.tenant_id = p_tenant
      and (coalesce(p_namespace, '') = '' or q.namespace = p_namespace)
      and (coalesce(p_task, '') = '' or q.task = p_task)
      and (
        p_group <> '__QUEUE_MODE__' and not exists (
          select from queen.consumer_groups_metadata m
          where m.tenant_id = q.tenant_id and m.consumer_group = p_group and m.queue_id = q.id
            and m.partition_name = '' and m.namespace = '' and m.task = '')
        or exists (
          select
          from queen.log_partitions p
          left join queen.log_consumers c on c.partition_id = p.id and c.consumer_group = p_group
          where p.queue_id = q.id and not q.pops_paused and p.last_write_at >= v_any_time
            and p.last_offset > greatest(coalesce(c.committed, -1), p.log_start - 1))));
end
$$;
