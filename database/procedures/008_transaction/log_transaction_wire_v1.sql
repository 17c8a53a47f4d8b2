-- Pushes and acks in one transaction: all of it is committed, or none.
--   {"ok":true,"pushes":[{"status":"queued","baseOffset","createdAt"},...],"acks":[...]}, both in input order.
--   An ack is what log_ack_by_hash_v1 answered, with "queue" and "partition" (names), "worker" (whose lease it acted
--   under, empty for none) and "leased" (whether the batch is still out).
-- Parameters
--   p         {"_tenant": uuid,
--              "leases": [every lease the request names],
--              "pushes": [{"queue","partition","count","verified"}],
--              "acks": [{"partitionId","group","worker": lease or null,"statuses": [one per item] or null: all done}]}
--             A partition may occur in several pushes; they are served in input order.
--   p_hashes  16 bytes per message: one element per push, then one per ack
--   p_blobs   one segment per push
-- The lease of an ack: its own; else, when the request names any lease, the one that holds the cursor, provided it is
-- among those named; else none. Holding the cursor is not enough: the batch of a request that came too late may by now
-- be leased to somebody else (hazard Z28).
-- Everything that is not a success is an exception, so that it takes the rest with it:
--   23505, "QDUP ..."   a push repeats a stored message
--   QTXN0, "QTXN ..."   an ack is refused, names a message that is not in reach, or refuses one that is completed
--   those of log_push_multi_v1
-- The messages are for the client as they are. An ack that answers "dlq":true is handed over by the caller after the
-- commit (log_dlq_head_v1), as with any other ack.
-- Locks: those of log_push_multi_v1 (partitions ascending), then cursors in ascending (partition id, group), waiting.
-- Called by: the transaction route.
create or replace function queen.log_transaction_wire_v1(p jsonb, p_hashes bytea[], p_blobs bytea[])
returns jsonb
language plpgsql
as $$
declare
  c_rolled_back constant text := '; transaction rolled back';
  v_tenant uuid := coalesce(p ->> '_tenant', '00000000-0000-0000-0000-000000000001')::uuid;
  v_leases text[] := array(select jsonb_array_elements_text(coalesce(p -> 'leases', '[]')));
  v_push_count int := coalesce(jsonb_array_length(p -> 'pushes'), 0);
  v_ack_count int := coalesce(jsonb_array_length(p -> 'acks'), 0);
  v_pushes jsonb := '[]';
  v_duplicate record;
  v_ack record;
  v_queue text;
  v_partition text;
  v_worker text;
  v_result jsonb;
  v_refusal text;
  v_results jsonb[];
begin
  if coalesce(cardinality(p_blobs), 0) <> v_push_count
    or coalesce(cardinality(p_hashes), 0) <> v_push_count + v_ack_count then
    raise exception using errcode = 'QTXN1', message = 'QTXN: the arrays differ in length';
  end if;

  if v_push_count > 0 then
    select queen.log_push_multi_v1(
      array_agg(u.push ->> 'queue' order by u.ord), array_agg(u.push ->> 'partition' order by u.ord),
      array_agg((u.push ->> 'count')::int order by u.ord), p_hashes[1:v_push_count],
      array_agg(coalesce((u.push ->> 'verified')::bigint, -1) order by u.ord), p_blobs,
      array_fill(v_tenant, array[v_push_count]))
    into v_pushes
    from jsonb_array_elements(p -> 'pushes') with ordinality u(push, ord);

    select r.ord, p -> 'pushes' -> (r.ord::int - 1) as push into v_duplicate
    from jsonb_array_elements(v_pushes) with ordinality r(result, ord)
    where r.result ->> 'status' <> 'queued'
    order by r.ord
    limit 1;
    if found then
      raise exception using
        errcode = 'unique_violation',
        message = format('QDUP duplicate messages in queue "%s" partition "%s"%s',
                         v_duplicate.push ->> 'queue', v_duplicate.push ->> 'partition', c_rolled_back);
    end if;
  end if;

  v_results := array_fill(null::jsonb, array[v_ack_count]);
  for v_ack in
    select (u.ack ->> 'partitionId')::uuid as partition_id, u.ack ->> 'group' as consumer_group,
           u.ack ->> 'worker' as worker, u.ack -> 'statuses' as statuses, u.ord::int as ord
    from jsonb_array_elements(coalesce(p -> 'acks', '[]')) with ordinality u(ack, ord)
    order by 1, 2, 5
  loop
    v_refusal := null;
    select q.name, l.name into v_queue, v_partition
    from queen.log_partitions l
    join queen.queues q on q.id = l.queue_id
    where l.id = v_ack.partition_id and q.tenant_id = v_tenant;
    if not found then
      -- Somebody else's partition is answered like one that does not exist.
      v_refusal := 'partition not found';
    else
      v_worker := v_ack.worker;
      if v_worker is null and cardinality(v_leases) > 0 then
        -- Read without a lock; the ack looks at the lease again under the cursor's lock.
        select c.worker_id into v_worker
        from queen.log_consumers c
        where c.partition_id = v_ack.partition_id and c.consumer_group = v_ack.consumer_group
          and c.worker_id = any (v_leases);
        v_worker := coalesce(v_worker, v_leases[1]); -- holds no cursor here: the ack says so
      end if;

      v_result := queen.log_ack_by_hash_v1(
        v_ack.partition_id, v_ack.consumer_group, coalesce(v_worker, ''),
        array(select k.h from queen.log_unnest_hashes(p_hashes[v_push_count + v_ack.ord]) k order by k.idx),
        case when jsonb_typeof(v_ack.statuses) = 'array'
          then array(select s.status from jsonb_array_elements_text(v_ack.statuses) with ordinality s(status, ord)
                     order by s.ord)
        end);
      if v_result -> 'ok' <> 'true' then
        v_refusal := v_result ->> 'error';
      elsif v_result -> 'unresolvedHashes' <> '[]' then
        raise exception using
          errcode = 'QTXN0', message = 'QTXN ack references unknown transactionId' || c_rolled_back;
      elsif v_result -> 'staleHashes' <> '[]' then
        v_refusal := 'already committed: the cursor moved past this message before this ack';
      end if;
    end if;
    if v_refusal is not null then
      raise exception using
        errcode = 'QTXN0',
        message = format('QTXN ack failed for partition %s group "%s": %s%s',
                         v_ack.partition_id, v_ack.consumer_group, v_refusal, c_rolled_back);
    end if;

    v_results[v_ack.ord] := v_result || jsonb_build_object(
      'queue', v_queue, 'partition', v_partition, 'worker', coalesce(v_worker, ''),
      'leased', exists (
        select from queen.log_consumers c
        where c.partition_id = v_ack.partition_id and c.consumer_group = v_ack.consumer_group
          and c.batch_end is not null));
  end loop;

  return jsonb_build_object('ok', true, 'pushes', v_pushes, 'acks', to_jsonb(v_results));
end
$$;
