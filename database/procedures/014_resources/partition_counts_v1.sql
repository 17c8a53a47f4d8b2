-- What the partitions of a queue hold, by name: at most p_limit of them after p_after (null: from the first on) and
-- p_offset further ones. Counts are arithmetic over offsets, exact at the moment of the statement:
--   r_messages    retained                      r_pending       of them not finished by the slowest group
--   r_processing  under live leases (r_leases of them), at most what is pending
--   r_dead_letters  put aside, all groups
--   r_expired     stepped over for their age    r_consumed      finished; both all groups together
--   r_worst       the slowest group's cursor; -1 without a group
-- A page walks the index on (queue_id, name) and looks the rest up partition by partition (OFFSET 0 keeps it so): its
-- cost is that of the page, however many partitions there are.
-- Sequential scans are off for the reason given in log_pop_candidates_v1.
-- Takes no lock. Called by: queue_counts_v1, get_queue_v2, get_queue_detail_v2, stats_count_v1.
create or replace function queen.partition_counts_v1(
  p_queue_id uuid,
  p_after text,
  p_offset bigint,
  p_limit int
)
returns table (
  r_id uuid,
  r_name text,
  r_created_at timestamptz,
  r_last_write_at timestamptz,
  r_last_offset bigint,
  r_log_start bigint,
  r_messages bigint,
  r_pending bigint,
  r_processing bigint,
  r_leases bigint,
  r_dead_letters bigint,
  r_expired bigint,
  r_consumed bigint,
  r_worst bigint
)
language plpgsql stable
set enable_seqscan = off
as $$
declare
  v_now timestamptz := clock_timestamp();
begin
  return query
    select n.id, n.name, n.created_at, n.last_write_at, n.last_offset, n.log_start, n.messages, n.pending,
           least(n.processing, n.pending), n.leases, n.dead_letters, n.expired, n.consumed, n.worst
    from (
      select p.*,
             p.last_offset - p.log_start + 1 as messages,
             greatest(p.last_offset - greatest(c.worst, p.log_start - 1), 0) as pending,
             c.processing, c.leases, d.dead_letters, c.expired, c.consumed, c.worst
      from (
        select l.id, l.name, l.created_at, l.last_write_at, l.last_offset, l.log_start
        from queen.log_partitions l
        where l.queue_id = p_queue_id and l.name >= coalesce(p_after, '') and l.name is distinct from p_after
        order by l.name
        offset greatest(p_offset, 0)
        limit greatest(p_limit, 0)
      ) p
      cross join lateral (
        select coalesce(min(x.committed), -1) as worst,
               coalesce(sum(x.batch_end - x.committed) filter (where x.lease_expires_at >= v_now), 0)::bigint
                 as processing,
               count(*) filter (where x.lease_expires_at >= v_now) as leases,
               coalesce(sum(x.total_expired), 0)::bigint as expired,
               coalesce(sum(x.total_consumed), 0)::bigint as consumed
        from queen.log_consumers x
        where x.partition_id = p.id
        offset 0
      ) c
      cross join lateral (
        select count(*) as dead_letters from queen.log_dlq x where x.partition_id = p.id offset 0
      ) d
      order by p.name
    ) n;
end
$$;
