-- The segments that hold given offsets of several partitions, in the order asked for; each segment once. An offset
-- that was deleted or does not exist yet is passed over, and so is a partition that does not exist.
--   p_queues, p_partitions, p_tenants  the partitions
--   p_counts   how many of the offsets belong to each of them
--   p_offsets  the offsets, partition after partition, ascending inside each
-- r_index is the partition's place in the input, from 0. The walk ends after the segment that brings the blobs to
-- p_bytes_max, so that a push of thousands of known messages does not pull gigabytes at once; the caller asks again
-- with what lies behind the last row.
-- One index step per segment, as in log_segment_at_v1. Takes no lock.
-- Called by: push (the ids of the originals of duplicates).
create or replace function queen.log_originals_v1(
  p_queues text[],
  p_partitions text[],
  p_tenants uuid[],
  p_counts int[],
  p_offsets bigint[],
  p_bytes_max bigint
)
returns table (r_index int, r_base bigint, r_end bigint, r_blob bytea)
language plpgsql stable
as $$
declare
  v_pid uuid;
  v_at int := 0; -- offsets of the partitions before this one
  v_end bigint;
  v_bytes bigint := 0;
begin
  for v_k in 1..coalesce(cardinality(p_queues), 0) loop
    select p.id into v_pid
    from queen.queues q
    join queen.log_partitions p on p.queue_id = q.id and p.name = p_partitions[v_k]
    where q.tenant_id = p_tenants[v_k] and q.name = p_queues[v_k];

    if found then
      v_end := -1;
      for v_i in v_at + 1..v_at + p_counts[v_k] loop
        continue when p_offsets[v_i] <= v_end;
        select v_k - 1, s.r_base, s.r_end, s.r_blob into r_index, r_base, r_end, r_blob
        from queen.log_segment_at_v1(v_pid, p_offsets[v_i]) s;
        continue when not found;
        return next;
        v_end := r_end;
        v_bytes := v_bytes + octet_length(r_blob);
        if v_bytes >= p_bytes_max then
          return;
        end if;
      end loop;
    end if;
    v_at := v_at + p_counts[v_k];
  end loop;
end
$$;
