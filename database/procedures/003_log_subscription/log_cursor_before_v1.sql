-- The cursor that makes a group start at a point in time: just before the first segment created at or after p_at,
-- or p_last_offset (only what comes later) when nothing is that recent. Granularity is the segment.
-- Walks forward from p_log_start, never from 0: below it there is nothing left to read.
-- Takes no lock. Called by: log_first_cursor_v1, log_register_group_v1.
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
  v_base bigint;
begin
  select s.base_offset into v_base
  from queen.log_segments s
  where s.partition_id = p_partition_id and s.base_offset >= p_log_start and s.created_at >= p_at
  order by s.base_offset
  limit 1;
  return coalesce(v_base - 1, p_last_offset);
end
$$;
