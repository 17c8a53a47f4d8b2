-- Creates a missing cursor row, seeded by log_first_cursor_v1. True when the row now exists because of this call or
-- of one that finished a moment ago; false means: skip this partition for one cycle.
-- Locks, in this order, and never waiting for any of them, because the caller may hold cursors of other partitions
-- until its transaction ends: waits between such transactions form chains without a cycle, which the deadlock
-- detector cannot break (hazards Z1 to Z3).
--   advisory, shared    (queue, group): not while the group's bulk seed is under way, whose uncommitted rows the
--                       insert below would wait for
--   advisory            (partition, group): one creator at a time; the others would wait for its uncommitted row.
--                       A hash collision skips an unrelated partition once, which is harmless
--   the partition row   FOR KEY SHARE, which the foreign-key check takes anyway: not while the partition is being
--                       deleted. A writer's FOR NO KEY UPDATE does not stand in its way (hazard Z25)
-- Called by: log_pop_v1, when the row is truly missing.
create or replace function queen.log_create_cursor_v1(
  p_partition_id uuid,
  p_queue_id uuid,
  p_group text,
  p_log_start bigint,
  p_last_offset bigint,
  p_sub_mode text,
  p_sub_from text,
  p_tenant uuid
)
returns boolean
language plpgsql
as $$
begin
  if not pg_try_advisory_xact_lock_shared(hashtextextended(p_queue_id::text || '/' || p_group, 43)) then
    return false;
  end if;
  if not pg_try_advisory_xact_lock(hashtextextended(p_partition_id::text || '/' || p_group, 42)) then
    return false;
  end if;
  perform from queen.log_partitions p where p.id = p_partition_id for key share skip locked;
  if not found then
    return false;
  end if;

  insert into queen.log_consumers (partition_id, consumer_group, committed)
  values (
    p_partition_id, p_group,
    queen.log_first_cursor_v1(
      p_partition_id, p_queue_id, p_group, p_log_start, p_last_offset, p_sub_mode, p_sub_from, p_tenant))
  on conflict do nothing;
  return true;
end
$$;
