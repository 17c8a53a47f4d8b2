-- Where a duplicate probe begins: the base of the first hash row that reaches above p_after and is not older than
-- p_cutoff; null when there is none. p_last is the partition's last offset.
-- Hash rows live as long as their segments, so a partition may hold many more than one window of them, and a push
-- that nobody vouched for (p_after -1) would walk all of them under the partition lock. created_at never decreases
-- along base_offset, so the border is found by halving: some twenty index steps instead of a walk.
-- Takes no lock. Called by: log_push_one_v1, under the partition's row lock; list_messages_v1.
create or replace function queen.log_dedup_start_v1(
  p_partition_id uuid,
  p_after bigint,
  p_last bigint,
  p_cutoff timestamptz
)
returns bigint
language plpgsql stable
as $$
declare
  v_low bigint := p_after + 1; -- no row that starts below is wanted
  v_high bigint := p_last + 1; -- no row that starts at or above is still to be looked at
  v_probe bigint;
  v_start bigint;
  v_base bigint;
  v_end bigint;
  v_created timestamptz;
begin
  -- The row that covers p_after + 1, or the last one below. Usually it is inside the window and ends the search.
  select t.base_offset, t.end_offset, t.created_at
  into v_base, v_end, v_created
  from queen.log_txns t
  where t.partition_id = p_partition_id and t.base_offset <= v_low
  order by t.base_offset desc
  limit 1;
  if v_created >= p_cutoff then
    return v_base;
  end if;

  while v_low < v_high loop
    v_probe := v_low + (v_high - v_low) / 2;
    select t.base_offset, t.end_offset, t.created_at
    into v_base, v_end, v_created
    from queen.log_txns t
    where t.partition_id = p_partition_id and t.base_offset >= v_probe
    order by t.base_offset
    limit 1;
    if not found then
      v_high := v_probe;
    elsif v_created < p_cutoff then
      v_low := v_end + 1;
    else
      v_start := v_base;
      v_high := v_probe;
    end if;
  end loop;
  return v_start;
end
$$;
