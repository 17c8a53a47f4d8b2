-- Partitions with hash rows that may go now: up to p_limit, those due for longest, as (partition, cutoff as ISO text).
-- Found by index on the time they are due, whichever queue they are of.
-- Takes no lock. Called by: the retention loop.
create or replace function queen.log_txns_work_v1(p_limit int)
returns table (r_partition_id uuid, r_cutoff text)
language plpgsql stable
as $$
declare
  v_now timestamptz := clock_timestamp(); -- as a value: a volatile function would be no condition for an index
begin
  return query
    select p.id, queen.log_utc_iso(v_now - queen.log_hash_window_v1(p.queue_id))
    from queen.log_partitions p
    where p.txns_due_at <= v_now
    order by p.txns_due_at, p.id
    limit greatest(coalesce(p_limit, 1), 1);
end
$$;
