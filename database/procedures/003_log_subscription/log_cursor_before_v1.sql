-- The cursor that makes a group start at a point in time: just before the first segment created at or after p_at,
-- or p_last_offset (only what comes later) when nothing is that recent. Granularity is the segment.
-- Looks from p_log_start on, never from 0: below it there is nothing left to read. created_at never decreases along
-- base_offset, so the place is found by halving: a seek over many deep partitions must not walk all their segments.
-- Takes no lock. Called by: log_first_cursor_v1, log_register_group_v1, log_move_cursors_v1, log_seek_preview_v1.
create or replace function queen.log_cursor_before_v1(
  p_partition_id uuid,
  p_log_start bigint,
  p_last_offset bigint,
  p_at timestamptz
)
returns bigint
language plpgsql stable
as $$
declare
  v_low bigint;                        -- every segment that starts below is too old
  v_high bigint := p_last_offset + 1;  -- no segment that starts at or above is still to be looked at
  v_probe bigint;
  v_start bigint;
  v_base bigint;
  v_end bigint;
  v_created timestamptz;
begin
  -- The two usual answers cost one index step each: everything is recent enough, or nothing is.
  select s.base_offset, s.end_offset, s.created_at into v_base, v_end, v_created
  from queen.log_segments s
  where s.partition_id = p_partition_id and s.base_offset >= p_log_start
  order by s.base_offset
  limit 1;
  if not found then
    return p_last_offset;
  end if;
  if v_created >= p_at then
    return v_base - 1;
  end if;
  v_low := v_end + 1;

  select s.created_at into v_created
  from queen.log_segments s
  where s.partition_id = p_partition_id
  order by s.base_offset desc
  limit 1;
  if v_created < p_at then
    return p_last_offset;
  end if;

  while v_low < v_high loop
    v_probe := v_low + (v_high - v_low) / 2;
    select s.base_offset, s.end_offset, s.created_at into v_base, v_end, v_created
    from queen.log_segments s
    where s.partition_id = p_partition_id and s.base_offset >= v_probe
    order by s.base_offset
    limit 1;
    if not found then
      v_high := v_probe;
    elsif v_created < p_at then
      v_low := v_end + 1;
    else
      v_start := v_base;
      v_high := v_probe;
    end if;
  end loop;
  return coalesce(v_start - 1, p_last_offset);
end
$$;
