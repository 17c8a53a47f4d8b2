-- Partitions of some queues that a group may find something in, in random order, at most p_limit.
--   p_floor        only partitions written since then, with two minutes of slack: more than the second by which
--                  last_write_at may lag plus the longest push
--   p_with_leased  also those whose lease is live, to ask whether anything is pending at all
-- A coarse filter on a snapshot: it may name what is taken or held back by now; log_pop_v1 decides under the lock.
-- Random, because sorted candidates would send all consumers to the same partitions (hazard Z4).
-- The plan must not depend on what the tables held when a session made it: with sequential scans off the queue's own
-- index is walked from the floor on, and the lateral OFFSET 0 keeps the cursor a lookup per candidate. Planned as a
-- join it read the cursors of all queues for a handful of recent partitions.
-- Takes no lock. Called by: log_pop_wildcard_bin_v1, log_pop_discover_wire_v1, log_note_empty_scan_v1.
create or replace function queen.log_pop_candidates_v1(
  p_queue_ids uuid[],
  p_group text,
  p_floor timestamptz,
  p_with_leased boolean,
  p_limit int
)
returns table (r_queue text, r_partition text)
language plpgsql stable
set enable_seqscan = off
as $$
declare
  v_now timestamptz := clock_timestamp();
begin
  return query
    select q.name::text, p.name
    from queen.log_partitions p
    join queen.queues q on q.id = p.queue_id
    left join lateral (
      select c.committed, c.worker_id, c.lease_expires_at
      from queen.log_consumers c
      where c.partition_id = p.id and c.consumer_group = p_group
      offset 0
    ) c on true
    where p.queue_id = any (p_queue_ids)
      and p.last_write_at >= p_floor - interval '2 minutes'
      and (c.committed is null or p.last_offset > c.committed)
      and (p_with_leased or c.worker_id is null or c.lease_expires_at is null or c.lease_expires_at < v_now)
    order by random()
    limit p_limit;
end
$$;
