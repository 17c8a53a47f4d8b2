-- When the oldest message at or above an offset was stored; null when there is none. Two index steps at most: the
-- segment that covers the offset, or the first one behind a gap.
-- Takes no lock. Called by: the group views.
create or replace function queen.log_oldest_pending_at_v1(p_pid uuid, p_wanted bigint)
returns timestamptz
language plpgsql stable
as $$
declare
  v_end bigint;
  v_created timestamptz;
begin
  select s.end_offset, s.created_at into v_end, v_created
  from queen.log_segments s
  where s.partition_id = p_pid and s.base_offset <= p_wanted
  order by s.base_offset desc
  limit 1;
  if v_end >= p_wanted then
    return v_created;
  end if;

  select s.created_at into v_created
  from queen.log_segments s
  where s.partition_id = p_pid and s.base_offset > p_wanted
  order by s.base_offset
  limit 1;
  return case when found then v_created end;
end
$$;
