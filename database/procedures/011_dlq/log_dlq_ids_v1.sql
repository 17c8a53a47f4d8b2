-- The next dead letters that pass a filter (log_dlq_matching_v1), oldest failure first, so that what failed in one
-- partition goes back in its order.
--   p_after_at, p_after_id  only letters behind this one; null: from the oldest
--   p_to      null: now. r_until says what was taken; the caller passes it on, or a bulk replay to a group that fails
--             again would meet its own messages and never end
-- Takes no lock. Called by: bulk replay.
create or replace function queen.log_dlq_ids_v1(
  p_queue text,
  p_partition text,
  p_group text,
  p_from timestamptz,
  p_to timestamptz,
  p_after_at timestamptz,
  p_after_id uuid,
  p_limit int,
  p_tenant uuid
)
returns table (r_id uuid, r_failed_at timestamptz, r_until timestamptz)
language plpgsql stable
set plan_cache_mode = force_custom_plan
as $$
declare
  v_until timestamptz := coalesce(p_to, clock_timestamp());
begin
  return query
    select m.r_id, m.r_failed_at, v_until
    from queen.log_dlq_matching_v1(p_queue, p_partition, p_group, p_from, v_until, p_tenant) m
    where p_after_id is null or (m.r_failed_at, m.r_id) > (p_after_at, p_after_id)
    order by m.r_failed_at, m.r_id
    limit p_limit;
end
$$;
