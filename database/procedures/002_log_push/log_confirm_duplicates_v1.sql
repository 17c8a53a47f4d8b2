-- Which suspected duplicates are duplicates: [{"i":k,"off":O},...] as in a duplicate verdict, null when none is.
--   p_hashes    16 bytes per frame of the segment that is to be pushed
--   p_suspects  [[k, O], ...]: the hash of frame k may be the one stored at offset O. Of several offsets of one frame
--               the lowest that holds it counts
--   p_cutoff    the start of the dedup window; what is older is no duplicate
-- What it finds stays true: rows are never changed, and it needs no lock. One index step per suspect, however many
-- messages the window holds.
-- Takes no lock. Called by: log_push_multi_v2.
create or replace function queen.log_confirm_duplicates_v1(
  p_partition_id uuid,
  p_hashes bytea,
  p_suspects jsonb,
  p_cutoff timestamptz
)
returns jsonb
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
declare
  v_found jsonb;
begin
  select jsonb_agg(jsonb_build_object('i', d.i, 'off', d.off) order by d.i) into v_found
  from (
    select s.i, min(s.off) as off
    from (
      select (u.pair ->> 0)::int as i, (u.pair ->> 1)::bigint as off from jsonb_array_elements(p_suspects) u(pair)
    ) s
    cross join lateral (
      select t.base_offset, t.end_offset, t.created_at, t.hashes
      from queen.log_txns t
      where t.partition_id = p_partition_id and t.base_offset <= s.off
      order by t.base_offset desc
      limit 1
    ) t
    where t.end_offset >= s.off and t.created_at >= p_cutoff
      and substr(t.hashes, ((s.off - t.base_offset) * 16 + 1)::int, 16) = substr(p_hashes, s.i * 16 + 1, 16)
    group by s.i
  ) d;
  return v_found;
end
$$;
