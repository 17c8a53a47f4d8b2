-- One page of the partitions of a queue that hold something above the group's cursor, ascending by id, starting
-- after p_after_id (the nil uuid for the first page). A page shorter than p_limit is the last one.
-- Leased partitions are included: the ring must know them when the lease ends.
-- Sequential scans are off and the cursor is looked up per partition for the reasons given in log_pop_candidates_v1.
-- Takes no lock. Called by: tools; the ring walks by write time with log_hotlist_reseed_window_v1.
create or replace function queen.log_hotlist_reseed_v1(
  p_queue text,
  p_group text,
  p_after_id uuid,
  p_limit int,
  p_tenant uuid default '00000000-0000-0000-0000-000000000001'
)
returns table (r_id uuid, r_name text)
language plpgsql stable
set enable_seqscan = off
as $$
declare
  v_any_time timestamptz := '-infinity'; -- always true, see log_has_pending_v1
begin
  return query
    select n.id, n.name
    from (
      -- Materialized first (OFFSET 0): ordering by id with a limit would tempt the planner to walk the primary key
      -- through the partitions of every queue.
      select p.id, p.name
      from queen.log_partitions p
      left join lateral (
        select c.committed
        from queen.log_consumers c
        where c.partition_id = p.id and c.consumer_group = p_group
        offset 0
      ) c on true
      where p.queue_id = (select q.id from queen.queues q where q.tenant_id = p_tenant and q.name = p_queue)
        and p.last_write_at >= v_any_time
        and p.id > p_after_id
        and p.last_offset > coalesce(c.committed, -1)
      offset 0
    ) n
    order by n.id
    limit greatest(p_limit, 1);
end
$$;
