-- The offsets of transaction-id hashes inside [p_low, p_high] of one partition, one entry per input hash in input
-- order, null where there is none. A hash that occurs more than once gives its lowest offset, or with p_newest_first
-- its highest.
-- Reads hash rows in pages of offsets from the end it starts at and stops as soon as every hash is found: rows live
-- as long as their segments, and one pass over all of them would make an ack cost the length of the log. Null entries
-- of p_hashes are not looked for; without bounds nothing is.
-- Takes no lock. Called by: log_ack_by_hash_v1, get_message_v1.
create or replace function queen.log_find_hashes_v1(
  p_partition_id uuid,
  p_hashes bytea[],
  p_low bigint,
  p_high bigint,
  p_newest_first boolean
)
returns bigint[]
language plpgsql stable
as $$
declare
  c_page constant bigint := 4096; -- offsets, not rows: bounds the hashes a page unpacks whatever the segment sizes
  v_count int := coalesce(cardinality(p_hashes), 0);
  v_offsets bigint[] := array_fill(null::bigint, array[v_count]);
  v_missing int := v_count - coalesce(cardinality(array_positions(p_hashes, null)), 0);
  v_low bigint;  -- lowest base of the page
  v_high bigint; -- highest base of the page
  v_first_base bigint;
  v_hit record;
begin
  if p_low is null or p_high is null then
    return v_offsets;
  end if;
  -- The row that covers p_low starts at or below it.
  select t.base_offset into v_first_base
  from queen.log_txns t
  where t.partition_id = p_partition_id and t.base_offset <= p_low
  order by t.base_offset desc
  limit 1;
  v_first_base := coalesce(v_first_base, p_low);

  v_low := case when p_newest_first then greatest(v_first_base, p_high - c_page + 1) else v_first_base end;
  v_high := case when p_newest_first then p_high else least(p_high, v_first_base + c_page - 1) end;
  while v_missing > 0 and v_low <= v_high loop
    for v_hit in
      select i.ord, case when p_newest_first then max(t.base_offset + k.idx) else min(t.base_offset + k.idx) end as off
      from queen.log_txns t
      cross join lateral queen.log_unnest_hashes(t.hashes) k
      join unnest(p_hashes) with ordinality i(h, ord) on i.h = k.h
      where t.partition_id = p_partition_id and t.base_offset between v_low and v_high
        and t.base_offset + k.idx between p_low and p_high
      group by i.ord
    loop
      if v_offsets[v_hit.ord] is null then
        v_offsets[v_hit.ord] := v_hit.off;
        v_missing := v_missing - 1;
      end if;
    end loop;

    if p_newest_first then
      v_high := v_low - 1;
      v_low := greatest(v_first_base, v_high - c_page + 1);
    else
      v_low := v_high + 1;
      v_high := least(p_high, v_low + c_page - 1);
    end if;
  end loop;
  return v_offsets;
end
$$;
