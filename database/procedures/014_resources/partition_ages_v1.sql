-- When the oldest and the newest retained message of a partition were stored; nulls when there is none. One index step
-- each.
-- Takes no lock. Called by: get_queue_v2, get_queue_detail_v2.
create or replace function queen.partition_ages_v1(p_partition_id uuid)
returns table (r_oldest timestamptz, r_newest timestamptz)
language plpgsql stable
as $$
begin
  select s.created_at into r_oldest
  from queen.log_segments s
  where s.partition_id = p_partition_id
  order by s.base_offset
  limit 1;
  select s.created_at into r_newest
  from queen.log_segments s
  where s.partition_id = p_partition_id
  order by s.base_offset desc
  limit 1;
  return next;
end
$$;
