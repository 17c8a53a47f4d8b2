-- Partitions of some queues that a group may find something in, in random order, at most p_limit.
--   p_floor        only partitions written since then, with two minutes of slack: more than the second by which
--                  last_write_at may lag plus the longest push
--   p_with_leased  also those whose lease is live or whose batch rests (retryDelay), to ask whether anything is pending at all
-- A coarse filter on a snapshot: it may name what is taken or held back by now; log_pop_v1 decides under the lock.
-- Random, because sorted candidates would send all consumers to the same partitions (hazard Z4).
-- The plan must not depend on what the tables held when a session made it: with sequential scans off, queue by queue,
-- the index over write times is walked from the floor on. (queue_id, name) would do as well where statistics know
-- nothing yet, and reads every partition of the queue; the ORDER BY breaks that tie. OFFSET 0 keeps queue and cursor
-- lookups. Planned as joins they read all queues, and the cursors of all queues, for a handful of recent partitions.
-- Takes no lock. Called by: log_pop_wildcard_bin_v1, log_discover_candidates_v1, log_note_empty_scan_v1.
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
    from unnest(p_queue_ids) u(queue_id)
    cross join lateral (select q.name from queen.queues q where q.id = u.queue_id offset 0) q
    cross join lateral (
      select w.id, w.name, w.last_offset
      from queen.log_partitions w
      where w.queue_id = u.queue_id and w.last_write_at >= p_floor - interval '2 minutes'
      order by w.last_write_at
      offset 0
    ) p
    left join lateral (
      select c.committed, c.worker_id, c.lease_expires_at, c.hold_until
      from queen.log_consumers c
      where c.partition_id = p.id and c.consumer_group = p_group
      offset 0
    ) c on true
    where (c.committed is null or p.last_offset > c.committed)
      and (
        p_with_leased
        or (c.worker_id is null or c.lease_expires_at is null or c.lease_expires_at < v_now)
        and (c.hold_until is null or c.hold_until <= v_now))
    order by random()
    limit p_limit;
end
$$;
