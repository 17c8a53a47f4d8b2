-- Appends N segments in one transaction; returns N results of log_push_one_v1 in input order.
-- Promises
--   All are committed together or none is. A duplicate verdict concerns its own segment only.
--   The ranges are those that N single pushes would allocate. The same partition twice is served in input order.
-- Parameters beside those of log_push_one_v1. A caller that keeps an index of hashes says in them what it relies on, so
-- that its promise holds or is put aside: what it knew of another partition of that name, of a shorter dedup window or
-- of a log that was longer than this one counts for nothing. Null p_pids: p_verified holds without a condition.
--   p_pids      the partition the promise is about; the nil uuid: p_verified holds without a condition
--   p_since     the promise leaves out what was stored before this time, microseconds since 1970
--   p_suspects  {"n": [[k, O], ...]}: frame k of the n-th segment, from 0, may be the message at offset O, and the
--               promise leaves O out. Those that are duplicates make the verdict; the rest of the segment has not been
--               looked at then
-- With p_pids, a segment whose promise was put aside, or that came with p_verified -1, is answered with "partitionId"
-- and "window" (seconds) as well.
-- Errors: SQLSTATE QMULT (message prefix QMULTI) when the arrays disagree in length or a name cannot be created, so
-- that results never shift against inputs; QPUSH, and QGONE (a delete got in between: push again), as in
-- log_push_one_v1.
-- Locks: keys of missing queues ordered by (tenant, name), then of missing partitions ordered by (queue, name), then
-- all partition rows by ascending id. Every caller keeping to this order cannot deadlock with another (hazard Z5);
-- an insert that ignores conflicts waits row by row, so the order matters there too.
-- Plans are generic, here and in what is called from here: the planner's habit of planning anew for arrays and ranges it
-- can see took longer than the push of one message itself.
-- Never waits for a cursor. Called by: the push flush, log_push_multi_v1.
create or replace function queen.log_push_multi_v2(
  p_queues text[],
  p_partitions text[],
  p_msg_counts int[],
  p_hashes bytea[],
  p_verified bigint[],
  p_blobs bytea[],
  p_tenants uuid[],
  p_pids uuid[],
  p_since bigint[],
  p_suspects jsonb
)
returns jsonb
language plpgsql
set plan_cache_mode = force_generic_plan
as $$
declare
  c_nil constant uuid := '00000000-0000-0000-0000-000000000000';
  v_count int := coalesce(cardinality(p_queues), 0);
  v_tenants uuid[];
  v_target record;
  v_pids uuid[];
  v_windows int[];
  v_lasts bigint[];
  v_ordinals int[]; -- input position of the k-th target in (partition id, input) order
  v_results jsonb[];
  v_ord int;
  v_now_us bigint := extract(epoch from clock_timestamp()) * 1000000;
  v_verified bigint;
  v_tells boolean;
  v_dups jsonb;
begin
  if v_count <> any (array[
    coalesce(cardinality(p_partitions), 0), coalesce(cardinality(p_msg_counts), 0),
    coalesce(cardinality(p_hashes), 0), coalesce(cardinality(p_verified), 0),
    coalesce(cardinality(p_blobs), 0), coalesce(cardinality(p_tenants), v_count),
    coalesce(cardinality(p_pids), v_count), coalesce(cardinality(p_since), v_count)]) then
    raise exception using errcode = 'QMULT', message = 'QMULTI: the arrays differ in length';
  end if;
  if v_count = 0 then
    return '[]';
  end if;
  v_tenants := coalesce(
    p_tenants, array_fill('00000000-0000-0000-0000-000000000001'::uuid, array[v_count]));

  for v_try in 1..2 loop
    select array_agg(r.id), array_agg(r.dedup_window_seconds), array_agg(r.last_offset), array_agg(r.ord)
    into v_pids, v_windows, v_lasts, v_ordinals
    from (
      select p.id, q.dedup_window_seconds, p.last_offset, u.ord::int as ord
      from unnest(p_queues, p_partitions, v_tenants) with ordinality u(queue, partition, tenant, ord)
      -- LATERAL with OFFSET 0 makes both columns of a key an index condition. As joins, and without statistics, the
      -- planner reads all partitions of the queue for each name and filters: 90 s for 10,000 new partitions.
      cross join lateral (
        select x.id, x.dedup_window_seconds from queen.queues x where x.tenant_id = u.tenant and x.name = u.queue offset 0
      ) q
      cross join lateral (
        select x.id, x.last_offset
        from queen.log_partitions x
        where x.queue_id = q.id and x.name = u.partition
        offset 0
      ) p
      order by p.id, u.ord
    ) r;
    exit when cardinality(v_pids) = v_count;
    if v_try = 2 then
      -- Impossible names, or names that a delete has just taken away again.
      if exists (
        select from unnest(p_queues, p_partitions) u(queue, partition)
        where coalesce(u.queue, '') = '' or u.partition is null) then
        raise exception using errcode = 'QMULT', message = 'QMULTI: a queue or partition name cannot be created';
      end if;
      raise exception using errcode = 'QGONE', message = 'QMULTI: a queue was deleted meanwhile, push again';
    end if;

    for v_target in
      select distinct u.tenant, u.queue
      from unnest(p_queues, v_tenants) u(queue, tenant)
      order by u.tenant, u.queue
    loop
      perform queen.provision_queue_v1(v_target.queue, v_target.tenant);
    end loop;
    for v_target in
      select distinct q.id as queue_id, u.partition
      from unnest(p_queues, p_partitions, v_tenants) u(queue, partition, tenant)
      cross join lateral (
        select x.id from queen.queues x where x.tenant_id = u.tenant and x.name = u.queue offset 0
      ) q
      left join lateral (
        select x.id from queen.log_partitions x where x.queue_id = q.id and x.name = u.partition offset 0
      ) p on true
      where u.partition is not null and p.id is null
      order by q.id, u.partition
    loop
      -- FOR KEY SHARE as in log_resolve_target_v1: a queue being deleted is waited for, not run into.
      insert into queen.log_partitions (queue_id, name)
      select q.id, v_target.partition
      from queen.queues q
      where q.id = v_target.queue_id
      for key share
      on conflict on constraint log_partitions_queue_name_uk do nothing;
    end loop;
  end loop;

  -- In the order of ids: each push locks its partition, so the locks are taken in ascending order without a statement
  -- of their own.
  v_results := array_fill(null::jsonb, array[v_count]);
  for v_k in 1..v_count loop
    v_ord := v_ordinals[v_k];
    v_verified := p_verified[v_ord];
    v_tells := p_pids is not null and v_verified = -1;
    if p_pids[v_ord] <> c_nil then
      -- v_now_us is from before the lock, so the window begins no earlier than this says; last_offset only grows.
      if p_pids[v_ord] <> v_pids[v_k] or v_windows[v_k] = 0 or v_verified > v_lasts[v_k]
        or p_since[v_ord] > v_now_us - v_windows[v_k] * 1000000::bigint then
        v_verified := -1;
        v_tells := true;
      elsif p_suspects ? (v_ord - 1)::text then
        v_dups := queen.log_confirm_duplicates_v1(
          v_pids[v_k], p_hashes[v_ord], p_suspects -> (v_ord - 1)::text,
          clock_timestamp() - make_interval(secs => v_windows[v_k]));
        if v_dups is not null then
          v_results[v_ord] := jsonb_build_object('status', 'duplicate', 'dups', v_dups);
          continue;
        end if;
      end if;
    end if;
    v_results[v_ord] := queen.log_push_one_v1(
      p_queues[v_ord], p_partitions[v_ord], p_msg_counts[v_ord], p_hashes[v_ord], v_verified,
      p_blobs[v_ord], v_pids[v_k], v_windows[v_k], v_tenants[v_ord]);
    if v_tells then
      v_results[v_ord] := v_results[v_ord] || jsonb_build_object('partitionId', v_pids[v_k], 'window', v_windows[v_k]);
    end if;
  end loop;
  return to_jsonb(v_results);
end
$$;
