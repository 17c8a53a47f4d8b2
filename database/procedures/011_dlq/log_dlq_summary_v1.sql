-- How many dead letters pass a filter (log_dlq_matching_v1), how many of them have no payload and so cannot be replayed,
-- and when the first and the last of them failed.
--   p_after_at, p_after_id  only letters that failed behind this one; null: all
-- Takes no lock. Called by: dry runs, and bulk replay for what remains.
create or replace function queen.log_dlq_summary_v1(
  p_queue text,
  p_partition text,
  p_group text,
  p_from timestamptz,
  p_to timestamptz,
  p_after_at timestamptz,
  p_after_id uuid,
  p_tenant uuid
)
returns table (r_matched bigint, r_without_payload bigint, r_oldest timestamptz, r_newest timestamptz)
language plpgsql stable
set plan_cache_mode = force_custom_plan
as $$
begin
  return query
    select count(*), count(*) filter (where d.payload is null), min(m.r_failed_at), max(m.r_failed_at)
    from queen.log_dlq_matching_v1(p_queue, p_partition, p_group, p_from, p_to, p_tenant) m
    join queen.log_dlq d on d.id = m.r_id
    where p_after_id is null or (m.r_failed_at, m.r_id) > (p_after_at, p_after_id);
end
$$;
