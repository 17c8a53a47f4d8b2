-- The hashes of several partitions in offset order, for whoever keeps an index of them. A partition that does not
-- exist, or whose queue has no dedup window, is passed over.
--   p_queues, p_partitions, p_tenants  the partitions
--   p_after      per partition: what lies above this offset; -1: what lies inside the dedup window
--   p_bytes_max  the walk ends after the row that brings the hashes to this size; the caller asks again with what lies
--                behind the last row
-- Rows: r_index the partition's place in the input, from 0. r_base .. r_end a range without gaps, r_hashes its 16 bytes
-- per offset, r_created_at the time of its last message. The rows of a partition follow each other without gaps. For
-- p_after -1 they begin with one without hashes, r_base the first offset that is still to come: everything stored
-- below is older than r_since. Elsewhere r_since is null.
-- Hash rows are put together into pieces: a million rows of one message each cost the reader more than the database.
-- Takes no lock. Called by: push, for its dedup index.
create or replace function queen.log_hashes_after_v1(
  p_queues text[],
  p_partitions text[],
  p_tenants uuid[],
  p_after bigint[],
  p_bytes_max bigint
)
returns table (
  r_index int,
  r_partition_id uuid,
  r_window int,
  r_since timestamptz,
  r_base bigint,
  r_end bigint,
  r_created_at timestamptz,
  r_hashes bytea
)
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
declare
  c_piece constant int := 4096; -- offsets
  v_last bigint;
  v_from bigint;
  v_bytes bigint := 0;
begin
  for v_k in 1..coalesce(cardinality(p_queues), 0) loop
    select p.id, q.dedup_window_seconds, p.last_offset into r_partition_id, r_window, v_last
    from queen.queues q
    -- LATERAL with OFFSET 0: by both columns of the key, whatever the statistics say (see log_push_multi_v2).
    cross join lateral (
      select x.id, x.last_offset
      from queen.log_partitions x
      where x.queue_id = q.id and x.name = p_partitions[v_k]
      offset 0
    ) p
    where q.tenant_id = p_tenants[v_k] and q.name = p_queues[v_k];
    continue when not found or r_window = 0;

    r_index := v_k - 1;
    v_from := p_after[v_k] + 1;
    r_since := null;
    if p_after[v_k] = -1 then
      r_since := clock_timestamp() - make_interval(secs => r_window);
      v_from := coalesce(queen.log_dedup_start_v1(r_partition_id, -1, v_last, r_since), v_last + 1);
      r_base := v_from;
      r_end := v_from - 1;
      r_created_at := null;
      r_hashes := '';
      return next;
      r_since := null;
    end if;

    while v_from <= v_last loop
      select min(t.base_offset), max(t.end_offset), max(t.created_at), string_agg(t.hashes, ''::bytea)
      into r_base, r_end, r_created_at, r_hashes
      from (
        select x.base_offset, x.end_offset, x.created_at, x.hashes
        from queen.log_txns x
        where x.partition_id = r_partition_id and x.base_offset >= v_from and x.base_offset < v_from + c_piece
        order by x.base_offset
      ) t;
      if r_hashes is null then
        -- Purged: the caller notices that the rest does not follow. Straight to the next row, for a gap may be any size.
        select x.base_offset into v_from
        from queen.log_txns x
        where x.partition_id = r_partition_id and x.base_offset >= v_from + c_piece
        order by x.base_offset
        limit 1;
        exit when not found;
        continue;
      end if;
      return next;
      v_from := r_end + 1;
      v_bytes := v_bytes + octet_length(r_hashes);
      if v_bytes >= p_bytes_max then
        return;
      end if;
    end loop;
  end loop;
end
$$;
