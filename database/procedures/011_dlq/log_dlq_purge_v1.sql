-- Deletes up to p_limit dead letters that pass a filter (log_dlq_matching_v1), oldest first. One row: how many, and the
-- end of the time range that was used: p_to, or now. The caller repeats with that end until fewer than p_limit went,
-- so letters that fail meanwhile are not deleted, and one transaction is never long.
-- Locks: the dead letters, waiting, by ascending id. Nothing else.
-- Called by: the dead-letter purge.
create or replace function queen.log_dlq_purge_v1(
  p_queue text,
  p_partition text,
  p_group text,
  p_from timestamptz,
  p_to timestamptz,
  p_limit int,
  p_tenant uuid
)
returns table (r_deleted int, r_until timestamptz)
language plpgsql
set plan_cache_mode = force_custom_plan
as $$
declare
  v_ids uuid[];
begin
  r_until := coalesce(p_to, clock_timestamp());
  select array_agg(l.id) into v_ids
  from (
    select d.id
    from queen.log_dlq d
    where d.id in (
      select m.r_id
      from queen.log_dlq_matching_v1(p_queue, p_partition, p_group, p_from, r_until, p_tenant) m
      order by m.r_failed_at, m.r_id
      limit p_limit)
    order by d.id
    for update
  ) l;
  delete from queen.log_dlq d where d.id = any (v_ids);
  get diagnostics r_deleted = row_count;
  return next;
end
$$;
