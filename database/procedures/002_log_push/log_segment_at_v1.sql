-- The segment that covers one offset; no row when the offset was deleted or does not exist yet.
-- One backward index step. The covering test stands outside the LIMIT: inside, a miss would walk the whole partition.
-- Takes no lock. Called by: push (the original of a duplicate), ack (the message to put aside).
create or replace function queen.log_segment_at_v1(p_pid uuid, p_off bigint)
returns table (r_base bigint, r_end bigint, r_created timestamptz, r_blob bytea)
language plpgsql stable
as $$
begin
  return query
    select n.base_offset, n.end_offset, n.created_at, n.blob
    from (
      select s.base_offset, s.end_offset, s.created_at, s.blob
      from queen.log_segments s
      where s.partition_id = p_pid and s.base_offset <= p_off
      order by s.base_offset desc
      limit 1
    ) n
    where n.end_offset >= p_off;
end
$$;
