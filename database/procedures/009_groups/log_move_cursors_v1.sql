-- Puts a group's cursor in each of these partitions to the end, or just before the first segment created at or after
-- p_timestamp (the end when there is none). Returns how many. Whatever lease was there is gone: an ack under it is
-- refused from now on. Retry and attempt fields start over; total_consumed keeps what was consumed.
-- Missing cursors are created. The only place where a cursor moves back.
-- Sequential scans are off: a cached plan made while there were few partitions would compare each with the whole array.
-- One statement for all of them: its rows are inserted, or locked and updated, in the order of the partition ids.
-- Locks: cursors in ascending partition id, waiting. The caller holds the (queue, group) advisory lock, so no pop is
-- creating one of these cursors meanwhile (hazard Z41).
-- Called by: log_seek_consumer_group_v1, log_seek_partition_v1.
create or replace function queen.log_move_cursors_v1(
  p_pids uuid[],
  p_group text,
  p_to_end boolean,
  p_timestamp timestamptz
)
returns bigint
language plpgsql
set enable_seqscan = off
as $$
declare
  v_moved bigint;
begin
  insert into queen.log_consumers (partition_id, consumer_group, committed)
  select
    l.id, p_group,
    case
      when p_to_end then l.last_offset
      else queen.log_cursor_before_v1(l.id, l.log_start, l.last_offset, p_timestamp)
    end
  from queen.log_partitions l
  where l.id = any (p_pids)
  order by l.id
  on conflict (partition_id, consumer_group) do update
  set committed = excluded.committed, batch_end = null, worker_id = null, lease_expires_at = null,
      lease_acquired_at = null, batch_retry_count = 0, attempt_offset = null, attempt_end = null, attempt_count = 0,
      hold_until = null, lost_offset = null, lost_end = null, lost_count = 0;
  get diagnostics v_moved = row_count;
  return v_moved;
end
$$;
