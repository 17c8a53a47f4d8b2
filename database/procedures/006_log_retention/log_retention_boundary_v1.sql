-- Where a rule by age ends: the base of the first segment at or above p_from that was created at or after p_cutoff; one
-- above the last offset when none is that recent; p_from when there is no segment, or no cutoff.
-- Everything below the result is older than the cutoff.
-- Takes no lock. Called by: log_retention_step_v1, under the partition's row lock.
create or replace function queen.log_retention_boundary_v1(
  p_partition_id uuid,
  p_from bigint,
  p_cutoff timestamptz
)
returns bigint
language plpgsql stable
as $$
declare
  v_end bigint;
begin
  select s.end_offset into v_end
  from queen.log_segments s
  where s.partition_id = p_partition_id
  order by s.base_offset desc
  limit 1;
  if p_cutoff is null or v_end is null or v_end < p_from then
    return p_from;
  end if;
  -- Found by halving: a partition may hold a million segments that are too old.
  return queen.log_cursor_before_v1(p_partition_id, p_from, v_end, p_cutoff) + 1;
end
$$;
