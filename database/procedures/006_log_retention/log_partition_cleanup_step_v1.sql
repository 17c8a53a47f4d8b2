-- Deletes up to p_max_rows dead partitions (log_partition_dead_v1) with their cursors and hash rows; a null cutoff
-- deletes none. {"deleted": partitions, "done": boolean}. Each leaves a __partition_deleted__ row in the history.
-- A push that resolved such a partition a moment before fails with QGONE; its retry makes the partition anew under
-- another id, so nothing is lost (hazard Z26).
-- Locks: the partition rows by ascending id (for update, since their foreign keys go with them), skipping those that are
-- locked: whoever holds one is using it. Then, waiting, their cursors.
-- Called by: log_partition_cleanup_v1.
create or replace function queen.log_partition_cleanup_step_v1(p_cutoff timestamptz, p_max_rows int)
returns jsonb
language plpgsql
as $$
declare
  c_max_rows constant int := greatest(coalesce(p_max_rows, 1), 1);
  v_candidates uuid[];
  v_dead uuid[];
begin
  if p_cutoff is null then
    return '{"deleted":0,"done":true}';
  end if;

  select array_agg(d.id) into v_candidates
  from (
    select p.id
    from queen.log_partitions p
    where p.oldest_live_at is null and p.last_write_at < p_cutoff
      and queen.log_partition_dead_v1(p.id, p_cutoff)
    order by p.last_write_at, p.id
    limit c_max_rows
  ) d;

  select array_agg(l.id) into v_dead
  from (
    select p.id from queen.log_partitions p where p.id = any (v_candidates) order by p.id for update skip locked
  ) l;
  -- Again, in a later command: the lock re-reads the row, but not the tables that the first look was about.
  select array_agg(u.id order by u.id) into v_dead
  from unnest(v_dead) u(id)
  where queen.log_partition_dead_v1(u.id, p_cutoff);

  delete from queen.log_txns t where t.partition_id = any (v_dead);
  insert into queen.retention_history (partition_id, messages_deleted, retention_type, executed_at)
  select u.id, 0, '__partition_deleted__', clock_timestamp() from unnest(v_dead) u(id);
  delete from queen.log_partitions p where p.id = any (v_dead);

  return jsonb_build_object(
    'deleted', coalesce(cardinality(v_dead), 0),
    'done', coalesce(cardinality(v_candidates), 0) < c_max_rows);
end
$$;
