-- Moves a cursor over the messages that are older than p_cutoff (the queue's ttl), and returns where it stands then:
-- p_committed when there are none. How many were stepped over is added to the cursor's total_expired.
-- Deleting them is retention's business: another group, or a seek, may still be entitled to what lies there.
-- Granularity is the segment, whose messages share their time. The usual answer, that the next message is fresh, costs
-- one index step.
-- What the cursor carried of the messages it leaves (an expired lease, a hold, failures) is gone with them.
-- Locks: none of its own; the caller holds the cursor row. Called by: log_pop_v1, for a queue with a ttl.
create or replace function queen.log_skip_expired_v1(
  p_partition_id uuid,
  p_group text,
  p_committed bigint,
  p_log_start bigint,
  p_last_offset bigint,
  p_cutoff timestamptz
)
returns bigint
language plpgsql
as $$
declare
  v_wanted bigint := greatest(p_committed + 1, p_log_start);
  v_end bigint;
  v_created timestamptz;
  v_fresh bigint;
begin
  select s.end_offset, s.created_at into v_end, v_created
  from queen.log_segments s
  where s.partition_id = p_partition_id and s.base_offset <= v_wanted
  order by s.base_offset desc
  limit 1;
  if v_end is null or v_end < v_wanted then
    -- The cursor sits in a gap that retention left: the next message is the first one behind it.
    select s.base_offset, s.created_at into v_wanted, v_created
    from queen.log_segments s
    where s.partition_id = p_partition_id and s.base_offset > v_wanted
    order by s.base_offset
    limit 1;
    if not found then
      return p_committed;
    end if;
  end if;
  if v_created >= p_cutoff then
    return p_committed;
  end if;

  v_fresh := queen.log_cursor_before_v1(p_partition_id, v_wanted, p_last_offset, p_cutoff);
  update queen.log_consumers c
  set committed = v_fresh, total_expired = c.total_expired + (v_fresh - v_wanted + 1),
      worker_id = null, lease_expires_at = null, lease_acquired_at = null, batch_end = null, hold_until = null,
      batch_retry_count = 0, attempt_offset = null, attempt_end = null, attempt_count = 0,
      lost_offset = null, lost_end = null, lost_count = 0
  where c.partition_id = p_partition_id and c.consumer_group = p_group;
  return v_fresh;
end
$$;
