-- What a group still has before it in a queue, or {"error":"Queue not found"}:
--   {"queue","group","pending","partitionsPending","partitions":[{"partition","pending"}]}
-- Without a group it is the slowest one of each partition that counts (all retained messages while there is none).
-- A group without a cursor in a partition has all of it before it. partitions are those with something pending, at
-- most p_limit, the fullest first; the sums are over all of them.
-- Costs one look at each partition of the queue, since nobody counts by group in advance.
-- Sequential scans are off for the reason given in log_pop_candidates_v1.
-- Takes no lock. Called by: the queue depth route.
create or replace function queen.log_queue_depth_v1(
  p_queue text,
  p_group text,
  p_limit int,
  p_tenant uuid default '00000000-0000-0000-0000-000000000001'
)
returns jsonb
language plpgsql stable
set enable_seqscan = off
as $$
declare
  v_queue_id uuid;
  v_result jsonb;
begin
  select q.id into v_queue_id from queen.queues q where q.tenant_id = p_tenant and q.name = p_queue;
  if not found then
    return '{"error":"Queue not found"}';
  end if;

  select jsonb_build_object(
    'queue', p_queue, 'group', p_group, 'pending', coalesce(sum(n.pending), 0), 'partitionsPending', count(*),
    'partitions', coalesce(
      jsonb_agg(jsonb_build_object('partition', n.name, 'pending', n.pending) order by n.place)
        filter (where n.place <= p_limit), '[]'))
  into v_result
  from (
    select d.name, d.pending, row_number() over (order by d.pending desc, d.name) as place
    from (
      select p.name, p.last_offset - greatest(c.committed, p.log_start - 1) as pending
      from queen.log_partitions p
      cross join lateral (
        select coalesce(min(x.committed), -1) as committed
        from queen.log_consumers x
        where x.partition_id = p.id and (p_group is null or x.consumer_group = p_group)
        offset 0
      ) c
      where p.queue_id = v_queue_id and p.name >= ''
    ) d
    where d.pending > 0
  ) n;
  return v_result;
end
$$;
