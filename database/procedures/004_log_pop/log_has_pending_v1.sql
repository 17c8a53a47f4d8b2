-- Whether any partition of the queue holds something above the group's cursor. False is definitive: a pop would find
-- nothing, so it may park without a permit. True may be stale: leased, held back, or emptied by retention.
-- Sequential scans are off for the reason given in log_pop_candidates_v1.
-- Takes no lock. Called by: the queue route without the hot-list, before it takes a permit.
create or replace function queen.log_has_pending_v1(
  p_queue text,
  p_group text,
  p_tenant uuid default '00000000-0000-0000-0000-000000000001'
)
returns boolean
language plpgsql stable
set enable_seqscan = off
as $$
declare
  -- Always true; it leads the planner to the index (queue_id, last_write_at). In a database where one queue has nearly
  -- all partitions the queue id alone looks useless to it, and it would walk them all for the smallest queue.
  v_any_time timestamptz := '-infinity';
begin
  return exists (
    select
    from queen.log_partitions p
    left join queen.log_consumers c on c.partition_id = p.id and c.consumer_group = p_group
    -- The id as a value: joined, the planner may walk the partitions of every queue and filter.
    where p.queue_id = (select q.id from queen.queues q where q.tenant_id = p_tenant and q.name = p_queue)
      and p.last_write_at >= v_any_time
      and p.last_offset > coalesce(c.committed, -1));
end
$$;
