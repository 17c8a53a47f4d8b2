-- log_pop_candidates_v1 over several queues, queues of a higher priority first; p_ranked says that there are different
-- ones, and without it there is nothing to arrange.
-- The list is cut at p_limit, and what is in it may turn out held back (delays, windows). So that a hundred such
-- partitions of one important queue do not keep the others from being asked at all, each priority first gets its share
-- of the list, and only then the rest of the list goes by priority too.
-- Null for p_queue_ids gives no row. Takes no lock. Called by: log_pop_discover_wire_v1.
create or replace function queen.log_discover_candidates_v1(
  p_queue_ids uuid[],
  p_group text,
  p_floor timestamptz,
  p_limit int,
  p_ranked boolean
)
returns table (r_queue text, r_partition text)
language plpgsql stable
as $$
begin
  if p_ranked is not true then
    return query
      select n.r_queue, n.r_partition
      from queen.log_pop_candidates_v1(p_queue_ids, p_group, p_floor, false, p_limit) n;
    return;
  end if;

  return query
    select n.r_queue, n.r_partition
    from (
      select c.r_queue, c.r_partition, t.priority,
             row_number() over (partition by t.priority) > p_limit / t.tiers as beyond_share
      from (
        select coalesce(q.priority, 0) as priority, array_agg(q.id) as ids, count(*) over () as tiers
        from queen.queues q
        where q.id = any (p_queue_ids)
        group by coalesce(q.priority, 0)
      ) t
      cross join lateral queen.log_pop_candidates_v1(t.ids, p_group, p_floor, false, p_limit) c
    ) n
    order by n.beyond_share, n.priority desc, random()
    limit p_limit;
end
$$;
