-- Called after a candidate scan that claimed nothing: moves the watermark of the given queues to now, but only when
-- they truly hold nothing for the group. A partition that was skipped because its lease is held still counts as
-- pending, or it would be hidden once that lease runs out (hazard Z11). With something pending only updated_at
-- moves, which throttles this check to one in 30 seconds.
-- Locks: watermark rows ordered by queue id, skipping locked ones: the caller may hold cursors, so it waits for
-- nobody, and whoever has the row is doing the same. The check runs after the lock, in a later command, and from the
-- floor of the locked rows: a seek moves cursors and deletes the row in one transaction, so either this check sees
-- the moved cursors, or the row it locked is deleted after it.
-- Called by: log_pop_wildcard_bin_v1, log_pop_discover_wire_v1.
create or replace function queen.log_note_empty_scan_v1(p_queue_ids uuid[], p_group text)
returns void
language plpgsql
as $$
declare
  v_now timestamptz := clock_timestamp();
  v_locked uuid[];
  v_floor timestamptz;
  v_pending boolean;
begin
  select array_agg(l.queue_id), min(l.last_empty_scan_at) into v_locked, v_floor
  from (
    select w.queue_id, w.last_empty_scan_at
    from queen.consumer_watermarks w
    where w.queue_id = any (p_queue_ids) and w.consumer_group = p_group
      and w.updated_at <= v_now - interval '30 seconds'
    order by w.queue_id
    for no key update skip locked
  ) l;
  if v_locked is null then
    return;
  end if;

  v_pending := exists (select from queen.log_pop_candidates_v1(v_locked, p_group, v_floor, true, 1));

  update queen.consumer_watermarks w
  set last_empty_scan_at = case when v_pending then w.last_empty_scan_at else v_now end,
      updated_at = v_now
  where w.queue_id = any (v_locked) and w.consumer_group = p_group;
end
$$;
