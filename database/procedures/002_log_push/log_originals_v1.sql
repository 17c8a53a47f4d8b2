-- The segments that hold the given offsets of one partition: each once, ascending. An offset that was deleted or does
-- not exist yet is passed over. No row when the partition does not exist.
-- p_offsets must be ascending. The walk ends after the segment that brings the blobs to p_bytes_max, so that a push
-- of thousands of known messages does not pull gigabytes at once; the caller asks again with the offsets above the
-- last row's end. One index step per segment, as in log_segment_at_v1.
-- Takes no lock. Called by: push (the ids of the originals of duplicates).
create or replace function queen.log_originals_v1(
  p_queue text,
  p_partition text,
  p_offsets bigint[],
  p_bytes_max bigint,
  p_tenant uuid
)
returns table (r_base bigint, r_end bigint, r_blob bytea)
language plpgsql stable
as $$
declare
  v_pid uuid;
  v_offset bigint;
  v_end bigint := -1;
  v_bytes bigint := 0;
begin
  select p.id into v_pid
  from queen.queues q
  join queen.log_partitions p on p.queue_id = q.id and p.name = p_partition
  where q.tenant_id = p_tenant and q.name = p_queue;
  if v_pid is null then
    return;
  end if;

  foreach v_offset in array p_offsets loop
    continue when v_offset <= v_end;
    select s.r_base, s.r_end, s.r_blob into r_base, r_end, r_blob
    from queen.log_segment_at_v1(v_pid, v_offset) s;
    continue when not found;
    return next;
    v_end := r_end;
    v_bytes := v_bytes + octet_length(r_blob);
    exit when v_bytes >= p_bytes_max;
  end loop;
end
$$;
