-- One page of the partitions of a queue that hold something above the group's cursor, ascending by (last write, id),
-- starting after (p_after_write, p_after_id); ('-infinity', nil uuid) for the first page. A page shorter than p_limit is
-- the last one.
-- The lower bound of the write time is computed once, on the first page, from p_window_ms and this server's clock (null:
-- a full walk), and handed back as r_cutoff; later pages pass it as p_cutoff. The broker's clock plays no part.
-- Leased partitions are included. A partition written during the walk moves to a later page, so none is missed; it
-- may be seen twice. r_written_ago_ms is the age of the last write by this server's clock.
-- Walks the index (queue_id, last_write_at) forward, so that a page costs what it passes and no sort of the queue.
-- The cursor is looked up per partition (OFFSET 0): a join planned for all partitions would read all cursors for a
-- window of a few.
-- Sequential scans are off for the reason given in log_pop_candidates_v1.
-- Takes no lock. Called by: the hot-list reseed.
create or replace function queen.log_hotlist_reseed_window_v1(
  p_queue text,
  p_group text,
  p_after_write timestamptz,
  p_after_id uuid,
  p_window_ms bigint,
  p_cutoff timestamptz,
  p_limit int,
  p_tenant uuid default '00000000-0000-0000-0000-000000000001'
)
returns table (r_id uuid, r_name text, r_last_write_at timestamptz, r_written_ago_ms bigint, r_cutoff timestamptz)
language plpgsql stable
set enable_seqscan = off
as $$
declare
  v_now timestamptz := clock_timestamp();
  v_cutoff timestamptz := coalesce(p_cutoff, v_now - p_window_ms * interval '1 millisecond', '-infinity');
begin
  return query
    select p.id, p.name, p.last_write_at,
           greatest(floor(extract(epoch from v_now - p.last_write_at) * 1000), 0)::bigint, v_cutoff
    from queen.log_partitions p
    left join lateral (
      select c.committed
      from queen.log_consumers c
      where c.partition_id = p.id and c.consumer_group = p_group
      offset 0
    ) c on true
    where p.queue_id = (select q.id from queen.queues q where q.tenant_id = p_tenant and q.name = p_queue)
      and p.last_write_at >= greatest(v_cutoff, p_after_write)
      and (p.last_write_at, p.id) > (p_after_write, p_after_id)
      and p.last_offset > coalesce(c.committed, -1)
    order by p.last_write_at, p.id
    limit greatest(p_limit, 1);
end
$$;
