-- Pop across every queue of a tenant whose namespace and task match (empty or null: any; not both). One row per
-- segment with its queue's name, partitions in claim order; the budget is shared by all of them.
-- Promises
--   The first pop of a group on a matching queue registers it there, with one mode and one time for all queues.
--   Queues of a higher priority come first, see log_discover_candidates_v1. A paused queue registers its group and
--   delivers nothing.
--   Creates no queue. The lease is p_lease_seconds, else the lease time of the partition's own queue.
--   Everything else as in log_pop_wildcard_bin_v1.
-- Locks, in this order: those of log_register_group_v1 queue by queue in the order of their ids (two discovery pops
-- with overlapping filters would deadlock otherwise, hazard Z22), the cursors (log_pop_v1), the watermarks
-- (log_note_empty_scan_v1). Once it holds a cursor it waits for nobody.
-- Called by: the discovery route.
create or replace function queen.log_pop_discover_wire_v1(
  p_namespace text,
  p_task text,
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
  v_namespace text := coalesce(p_namespace, '');
  v_task text := coalesce(p_task, '');
  v_left int := greatest(coalesce(p_budget, 1), 1);
  -- As in log_pop_v1, over all partitions of the answer.
  c_bytes_max constant bigint := 16777216;
  v_bytes bigint := 0;
  v_partitions_left int := case when p_max_partitions > 0 then p_max_partitions else 2147483647 end;
  v_candidates int := case
    when v_partitions_left >= 128 then 512
    else least(greatest(v_partitions_left * 4, 64), 512)
  end;
  v_queue_ids uuid[];
  v_open_ids uuid[]; -- those of them that are not paused
  v_ranked boolean;
  v_new_ids uuid[]; -- matching queues on which the group is not registered, ascending
  v_mode text;
  v_at timestamptz;
  v_floor timestamptz;
  v_checked_at timestamptz;
  v_claimed boolean := false;
begin
  if v_namespace = '' and v_task = '' then
    raise exception using errcode = 'QPOP0', message = 'QPOP: a discovery pop needs a namespace or a task';
  end if;

  select array_agg(q.id), array_agg(q.id) filter (where not q.pops_paused),
         min(coalesce(q.priority, 0)) <> max(coalesce(q.priority, 0)),
         array_agg(q.id order by q.id) filter (where m.id is null or w.queue_id is null),
         min(coalesce(w.last_empty_scan_at, 'epoch')), min(coalesce(w.updated_at, 'epoch'))
  into v_queue_ids, v_open_ids, v_ranked, v_new_ids, v_floor, v_checked_at
  from queen.queues q
  left join queen.consumer_groups_metadata m
    on m.tenant_id = q.tenant_id and m.consumer_group = p_group and m.queue_id = q.id
   and m.partition_name = '' and m.namespace = '' and m.task = ''
  left join queen.consumer_watermarks w on w.queue_id = q.id and w.consumer_group = p_group
  where q.tenant_id = p_tenant
    and (v_namespace = '' or q.namespace = v_namespace)
    and (v_task = '' or q.task = v_task);
  if v_queue_ids is null then
    return;
  end if;

  if v_new_ids is not null then
    select r.r_mode, r.r_at into v_mode, v_at from queen.log_registration_v1(p_group, p_sub_mode, p_sub_from) r;
    for v_i in 1..cardinality(v_new_ids) loop
      perform queen.log_register_group_v1(v_new_ids[v_i], p_group, v_mode, v_at, p_tenant);
    end loop;
  end if;

  for r_queue, r_partition in
    select n.r_queue, n.r_partition
    from queen.log_discover_candidates_v1(v_open_ids, p_group, v_floor, v_candidates, v_ranked) n
  loop
    r_partition_id := null;
    for r_base, r_start_idx, r_take, r_msg_count, r_created_at, r_blob in
      select s.r_base, s.r_start_idx, s.r_take, s.r_msg_count, s.r_created_at, s.r_blob
      from queen.log_pop_v1(
        r_queue, r_partition, p_group, v_left, p_lease_seconds, p_worker, p_auto_ack, p_sub_mode, p_sub_from,
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
        where q.tenant_id = p_tenant and q.name = r_queue;
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
    perform queen.log_note_empty_scan_v1(v_queue_ids, p_group);
  end if;
end
$$;
