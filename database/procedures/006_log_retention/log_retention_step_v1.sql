-- Deletes up to p_max_rows segments from the head of one partition, by two rules; a null cutoff switches a rule off:
--   p_all_cutoff        older than this, whether or not anybody has read it
--   p_completed_cutoff  older than this and finished by every existing group (log_unread_from_v1); a partition without
--                       a cursor loses nothing by this rule
-- {"deleted": segments, "new_log_start": offset or null, "done": boolean, "messages", "unread"}
--   done    nothing that may go is left; a gone partition is done as well
--   unread  messages among the deleted that some existing group had not finished: only the first rule has any
-- Promises
--   Only whole segments go, from the front, without a gap between (invariants I37 to I39). The new log_start is the end
--   of the last deleted segment plus one, so it is never inside a segment and never moves back.
--   Segments, log_start and history change together or not at all.
--   Hash rows stay: an ack under way, and the dedup window, still need them.
-- Locks: the partition row (for no key update), held to the end of the transaction, so call it as a transaction of its
-- own: pushes to the partition wait that long (hazard Z19). Cursors are read and not locked: a cursor only moves back by
-- a seek, which finds what there is when it commits.
-- Called by: the retention loop, log_evict_max_wait_step_v1.
create or replace function queen.log_retention_step_v1(
  p_pid uuid,
  p_all_cutoff timestamptz,
  p_completed_cutoff timestamptz,
  p_max_rows int,
  p_history_type text default null
)
returns jsonb
language plpgsql
as $$
declare
  v_queue_id uuid;
  v_start bigint;
  v_last bigint;
  v_oldest timestamptz;
  v_boundary bigint;
  v_unread_from bigint;
  v_completed bigint;
  v_by_completion boolean := false;
  v_cut bigint;
  v_rows bigint;
  v_unread bigint := 0;
begin
  select p.queue_id, p.log_start, p.last_offset, p.oldest_live_at into v_queue_id, v_start, v_last, v_oldest
  from queen.log_partitions p
  where p.id = p_pid
  for no key update;
  if not found then
    return '{"deleted":0,"new_log_start":null,"done":true,"messages":0,"unread":0}';
  end if;

  -- Later commands than the lock: what its previous holder committed is visible to them.
  v_boundary := queen.log_retention_boundary_v1(p_pid, v_start, p_all_cutoff);
  v_unread_from := queen.log_unread_from_v1(p_pid, v_queue_id, v_start, v_last);
  if p_completed_cutoff is not null and v_unread_from > v_boundary
    and exists (select from queen.log_consumers c where c.partition_id = p_pid) then
    v_completed := least(v_unread_from, queen.log_retention_boundary_v1(p_pid, v_start, p_completed_cutoff));
    v_by_completion := v_completed > v_boundary;
    v_boundary := greatest(v_boundary, v_completed);
  end if;

  select max(h.end_offset), count(*) into v_cut, v_rows
  from (
    select s.end_offset
    from queen.log_segments s
    where s.partition_id = p_pid and s.base_offset >= v_start and s.base_offset < v_boundary
      and s.end_offset < v_boundary
    order by s.base_offset
    limit greatest(coalesce(p_max_rows, 1), 1)
  ) h;

  if v_rows > 0 then
    delete from queen.log_segments s
    where s.partition_id = p_pid and s.base_offset >= v_start and s.base_offset <= v_cut;

    v_unread := greatest(0, v_cut + 1 - greatest(v_start, coalesce(v_unread_from, v_cut + 1)));
    perform queen.log_note_retention_v1(
      p_pid, coalesce(p_history_type, case when v_by_completion then 'completed_retention' else 'retention' end),
      v_cut + 1 - v_start, v_unread);

    update queen.log_partitions p
    set log_start = v_cut + 1,
        oldest_live_at = (
          select s.created_at
          from queen.log_segments s
          where s.partition_id = p_pid
          order by s.base_offset
          limit 1),
        txns_due_at = coalesce(p.txns_due_at, (
          select t.created_at + queen.log_hash_window_v1(v_queue_id)
          from queen.log_txns t
          where t.partition_id = p_pid and t.base_offset >= p.txns_start
          order by t.base_offset
          limit 1))
    where p.id = p_pid;
  else
    -- Whoever else removed segments left the mark behind, and the partition would be looked at in every sweep.
    update queen.log_partitions p
    set oldest_live_at = h.created_at
    from (
      select (
        select s.created_at
        from queen.log_segments s
        where s.partition_id = p_pid
        order by s.base_offset
        limit 1) as created_at
    ) h
    where p.id = p_pid and p.oldest_live_at is distinct from h.created_at;
  end if;

  return jsonb_build_object(
    'deleted', v_rows,
    'new_log_start', coalesce(v_cut + 1, v_start),
    'done', v_rows = 0 or not exists (
      select from queen.log_segments s
      where s.partition_id = p_pid and s.base_offset > v_cut and s.base_offset < v_boundary
        and s.end_offset < v_boundary),
    'messages', coalesce(v_cut + 1 - v_start, 0),
    'unread', v_unread);
end
$$;
