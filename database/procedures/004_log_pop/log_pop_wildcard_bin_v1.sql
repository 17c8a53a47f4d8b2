-- Pop across a queue's partitions by a candidate scan: the path without the hot-list, and every group's first
-- contact with a queue. One row per segment, partitions in claim order; the budget is shared by all of them.
-- Promises
--   A queue that does not exist is created: a group may subscribe before the first push, and its durable
--   subscription needs the row. (The empty name is not; it answers no row.)
--   The first pop of a group registers it and seeds its cursors (log_register_group_v1).
--   At most p_max_partitions partitions; null or less than 1 means no cap.
--   The scan nominates on a coarse, perhaps stale filter; log_pop_v1 decides under the row lock.
--   r_state, r_last_off and r_wait_ms are always null here.
-- Locks, in this order: those of provision_queue_v1, those of log_register_group_v1 (both only on first contact), the
-- cursors (log_pop_v1), the watermark (log_note_empty_scan_v1). Once it holds a cursor it waits for nobody.
-- Called by: the queue route.
create or replace function queen.log_pop_wildcard_bin_v1(
  p_queue text,
  p_group text,
  p_budget int,
  p_lease_seconds int,
  p_worker text,
  p_auto_ack boolean,
  p_max_partitions int,
  p_sub_mode text default 'all',
  p_sub_from text default '',
  p_tenant uuid default '00000000-0000-0000-0000-000000000001'
)
returns table (
  r_queue text,
  r_partition text,
  r_partition_id uuid,
  r_base bigint,
  r_start_idx int,
  r_take int,
  r_msg_count int,
  r_created_at timestamptz,
  r_blob bytea,
  r_attempt int,
  r_state text,
  r_last_off bigint,
  r_wait_ms int
)
language plpgsql
as $$
declare
  v_left int := greatest(coalesce(p_budget, 1), 1);
  -- As in log_pop_v1, over all partitions of the answer.
  c_bytes_max constant bigint := 16777216;
  v_bytes bigint := 0;
  v_partitions_left int := case when p_max_partitions > 0 then p_max_partitions else 2147483647 end;
  -- More candidates than wanted, since some will be taken by others or turn out empty. The large values are told
  -- apart first: four times "no cap" is no int.
  v_candidates int := case
    when v_partitions_left >= 128 then 512
    else least(greatest(v_partitions_left * 4, 64), 512)
  end;
  v_queue_id uuid;
  v_registered boolean;
  v_floor timestamptz;
  v_checked_at timestamptz;
  v_claimed boolean := false;
begin
  select q.id, m.id is not null and w.queue_id is not null, w.last_empty_scan_at, w.updated_at
  into v_queue_id, v_registered, v_floor, v_checked_at
  from queen.queues q
  left join queen.consumer_groups_metadata m
    on m.tenant_id = q.tenant_id and m.consumer_group = p_group and m.queue_id = q.id
   and m.partition_name = '' and m.namespace = '' and m.task = ''
  left join queen.consumer_watermarks w on w.queue_id = q.id and w.consumer_group = p_group
  where q.tenant_id = p_tenant and q.name = p_queue;

  if v_queue_id is null then
    v_queue_id := queen.provision_queue_v1(p_queue, p_tenant);
    if v_queue_id is null then
      return;
    end if;
  end if;
  if v_registered is not true then
    perform queen.log_register_group_v1(v_queue_id, p_group, r.r_mode, r.r_at, p_tenant)
    from queen.log_registration_v1(p_group, p_sub_mode, p_sub_from) r;
    v_floor := coalesce(v_floor, 'epoch');
    v_checked_at := coalesce(v_checked_at, 'epoch');
  end if;

  r_queue := p_queue;
  -- The floor keeps a caught-up group from reading every partition on every poll.
  for r_partition in
    select n.r_partition
    from queen.log_pop_candidates_v1(array[v_queue_id], p_group, v_floor, false, v_candidates) n
  loop
    r_partition_id := null;
    for r_base, r_start_idx, r_take, r_msg_count, r_created_at, r_blob in
      select s.r_base, s.r_start_idx, s.r_take, s.r_msg_count, s.r_created_at, s.r_blob
      from queen.log_pop_v1(
        p_queue, r_partition, p_group, v_left, p_lease_seconds, p_worker, p_auto_ack, p_sub_mode, p_sub_from,
        false, p_tenant) s
    loop
      if r_partition_id is null then
        -- A later command than the claim, for the reason given in log_pop_specific_v1.
        select p.id, queen.log_attempt_v1(
                 p_auto_ack, c.attempt_count, c.attempt_offset, c.lost_count, c.lost_offset)
        into r_partition_id, r_attempt
        from queen.queues q
        join queen.log_partitions p on p.queue_id = q.id and p.name = r_partition
        join queen.log_consumers c on c.partition_id = p.id and c.consumer_group = p_group
        where q.tenant_id = p_tenant and q.name = p_queue;
      end if;
      v_left := v_left - r_take;
      v_bytes := v_bytes + octet_length(r_blob);
      return next;
    end loop;

    if r_partition_id is not null then
      v_claimed := true;
      v_partitions_left := v_partitions_left - 1;
      if v_left <= 0 or v_partitions_left <= 0 or v_bytes >= c_bytes_max then
        return;
      end if;
    end if;
  end loop;

  if not v_claimed and v_checked_at <= clock_timestamp() - interval '30 seconds' then
    perform queen.log_note_empty_scan_v1(array[v_queue_id], p_group);
  end if;
end
$$;
