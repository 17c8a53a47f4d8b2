-- Deletes up to p_max_rows hash rows of one partition whose segment is gone and which were written before p_cutoff (now
-- minus log_hash_window_v1; null: nothing goes). {"deleted": rows, "new_txns_start": offset or null, "done": boolean}
-- A hash row of a live segment always stays: a message that is still in the log can be acked by its transactionId,
-- however long it has waited.
-- Locks: the partition row (for no key update), because the duplicate probe of a push reads txns_start under it. A
-- transaction of its own, as in log_retention_step_v1.
-- Called by: the retention loop.
create or replace function queen.log_txns_purge_step_v1(p_pid uuid, p_cutoff timestamptz, p_max_rows int)
returns jsonb
language plpgsql
as $$
declare
  c_max_rows constant int := greatest(coalesce(p_max_rows, 1), 1);
  v_log_start bigint;
  v_start bigint;
  v_cut bigint;
  v_rows bigint;
  v_next timestamptz; -- of the first row that is left and belongs to a deleted segment
  v_done boolean;
begin
  select p.log_start, p.txns_start into v_log_start, v_start
  from queen.log_partitions p
  where p.id = p_pid
  for no key update;
  if not found or p_cutoff is null then
    return jsonb_build_object('deleted', 0, 'new_txns_start', v_start, 'done', true);
  end if;

  -- The age is tested outside the LIMIT: inside, rows that are all too young would be walked to the last.
  select max(h.end_offset), count(*) into v_cut, v_rows
  from (
    select t.end_offset, t.created_at
    from queen.log_txns t
    where t.partition_id = p_pid and t.base_offset >= v_start and t.base_offset < v_log_start
    order by t.base_offset
    limit c_max_rows
  ) h
  where h.created_at < p_cutoff;

  if v_rows > 0 then
    delete from queen.log_txns t
    where t.partition_id = p_pid and t.base_offset >= v_start and t.base_offset <= v_cut;
    v_start := v_cut + 1;
  end if;

  select t.created_at into v_next
  from queen.log_txns t
  where t.partition_id = p_pid and t.base_offset >= v_start and t.base_offset < v_log_start
  order by t.base_offset
  limit 1;
  v_done := v_next is null or v_next >= p_cutoff;

  -- Also when nothing went: windows may have become longer since the row was put on the list.
  update queen.log_partitions p
  set txns_start = v_start,
      txns_due_at = v_next + (clock_timestamp() - p_cutoff)
  where p.id = p_pid;

  return jsonb_build_object('deleted', v_rows, 'new_txns_start', v_start, 'done', v_done);
end
$$;
