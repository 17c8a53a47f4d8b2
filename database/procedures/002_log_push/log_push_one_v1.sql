-- Appends one segment to one partition: the only allocator of offsets.
--   {"status":"queued","baseOffset":B,"createdAt":iso}
--   {"status":"duplicate","dups":[{"i":k,"off":O},...]}  k: index of the frame that is known, O: its first offset
-- Promises
--   A duplicate verdict has written nothing. An exception has written nothing.
--   Ranges are contiguous, and created_at never decreases along them in commit order (invariants I1 to I8, I27, I28).
-- Parameters
--   p_hashes    16 bytes per frame, frame order; PostgreSQL neither hashes nor looks into the blob
--   p_verified  the caller's promise that none of these hashes exists at or below this offset; -1 or null: no promise
--   p_pid, p_window  partition id and dedup window in seconds when the caller has resolved them; null: by name
-- Errors: SQLSTATE QPUSH for arguments that cannot be stored; QGONE when the partition vanished meanwhile (push
-- again: the name is then created anew); QOFFS beyond offset 2^53 - 1, the last one that brokers count exactly.
-- Locks: the partition row, held to the end of the transaction. FOR NO KEY UPDATE excludes other writers, but not the
-- foreign-key check of a pop that creates a cursor: that pop may hold cursors and must not wait here (hazard Z25).
-- Creating a missing queue or partition comes before that lock and may wait for another creator of the same name.
-- Never waits for a cursor. Called by: log_push_multi_v2, log_dlq_move_v1.
create or replace function queen.log_push_one_v1(
  p_queue text,
  p_partition text,
  p_msg_count int,
  p_hashes bytea,
  p_verified bigint,
  p_blob bytea,
  p_pid uuid default null,
  p_window int default null,
  p_tenant uuid default '00000000-0000-0000-0000-000000000001'
)
returns jsonb
language plpgsql
as $$
declare
  v_pid uuid := p_pid;
  v_window int := p_window;
  v_last bigint;
  v_txns_start bigint;
  v_after bigint;
  v_start bigint;
  v_base bigint;
  v_now timestamptz;
  v_dups jsonb;
begin
  -- A wrong stride would not fail later: it would make acks hit the wrong messages.
  if p_msg_count is null or p_msg_count < 1 then
    raise exception using errcode = 'QPUSH', message = 'QPUSH: a segment holds at least one message';
  end if;
  if octet_length(p_hashes) is distinct from 16 * p_msg_count::bigint then
    raise exception using
      errcode = 'QPUSH',
      message = format('QPUSH: %s messages need %s bytes of hashes, got %s',
                       p_msg_count, 16 * p_msg_count::bigint, octet_length(p_hashes));
  end if;
  if p_blob is null then
    raise exception using errcode = 'QPUSH', message = 'QPUSH: the segment has no blob';
  end if;

  if v_pid is null or v_window is null then
    select r.r_partition_id, r.r_window into v_pid, v_window
    from queen.log_resolve_target_v1(p_queue, p_partition, p_tenant) r;
    if v_pid is null then
      if coalesce(p_queue, '') = '' or p_partition is null then
        raise exception using errcode = 'QPUSH', message = 'QPUSH: a queue or partition name cannot be created';
      end if;
      raise exception using errcode = 'QGONE', message = 'QPUSH: the queue was deleted meanwhile, push again';
    end if;
  end if;

  if v_window > 0 then
    select p.last_offset, p.txns_start into v_last, v_txns_start
    from queen.log_partitions p
    where p.id = v_pid
    for no key update;
    if not found then
      raise exception using
        errcode = 'QGONE', message = format('QPUSH: partition %s was deleted meanwhile, push again', v_pid);
    end if;
    -- After the lock, never before: two writers that stamp and then wait would commit in the other order (Z14).
    v_now := clock_timestamp();

    -- The probe is a command of its own: combined with the lock it would look with a snapshot from before the wait
    -- and miss what the previous holder just committed (Z16).
    v_after := greatest(coalesce(p_verified, -1), v_txns_start - 1);
    if v_last > v_after then
      v_start := queen.log_dedup_start_v1(v_pid, v_after, v_last, v_now - make_interval(secs => v_window));
      if v_start is not null then
        v_dups := queen.log_probe_hashes_v1(v_pid, v_start, v_after, p_hashes);
        if v_dups is not null then
          return jsonb_build_object('status', 'duplicate', 'dups', v_dups);
        end if;
      end if;
    end if;
  end if;

  -- last_write_at is indexed: kept byte for byte unless it is a second old, so that this stays a HOT update (Z13).
  update queen.log_partitions p
  set last_offset = p.last_offset + p_msg_count,
      last_write_at = case
        when p.last_write_at < clock_timestamp() - interval '1 second' then clock_timestamp()
        else p.last_write_at
      end,
      -- Indexed too, and changed only by the push that ends an emptiness.
      oldest_live_at = coalesce(p.oldest_live_at, v_now, clock_timestamp())
  where p.id = v_pid
  returning p.last_offset - p_msg_count + 1 into v_base;
  if not found then
    raise exception using
      errcode = 'QGONE', message = format('QPUSH: partition %s was deleted meanwhile, push again', v_pid);
  end if;
  -- Brokers count exactly up to here. What lay beyond could be stored, but never be delivered.
  if v_base + p_msg_count - 1 > 9007199254740991 then
    raise exception using
      errcode = 'QOFFS', message = format('QPUSH: partition %s has reached its last offset', v_pid);
  end if;
  -- Without a window the update was what took the lock.
  v_now := coalesce(v_now, clock_timestamp());

  insert into queen.log_segments (partition_id, base_offset, end_offset, created_at, blob)
  values (v_pid, v_base, v_base + p_msg_count - 1, v_now, p_blob);
  insert into queen.log_txns (partition_id, base_offset, end_offset, created_at, hashes)
  values (v_pid, v_base, v_base + p_msg_count - 1, v_now, p_hashes);

  return jsonb_build_object('status', 'queued', 'baseOffset', v_base, 'createdAt', queen.log_utc_iso(v_now));
end
$$;
