-- A piece of the traces that carry a name, newest first, of partitions that exist and are the tenant's.
--   p_before_at, p_before_id  only behind this trace in the list; null: from its head
--   p_bytes_max  the piece ends with the trace that brings the data to this size; the caller asks again
-- Takes no lock. Called by: traces by name.
create or replace function queen.get_traces_by_name_v1(
  p_trace_name text,
  p_before_at timestamptz,
  p_before_id uuid,
  p_limit int,
  p_offset int,
  p_bytes_max bigint,
  p_tenant uuid
)
returns table (
  r_id uuid,
  r_created_at timestamptz,
  r_event_type text,
  r_data text,
  r_group text,
  r_worker_id text,
  r_names jsonb,
  r_transaction_id text,
  r_partition_id uuid,
  r_queue text,
  r_partition text
)
language plpgsql stable
set plan_cache_mode = force_custom_plan
as $$
declare
  v_bytes bigint := 0;
begin
  for r_id, r_created_at, r_event_type, r_data, r_group, r_worker_id, r_names, r_transaction_id, r_partition_id,
      r_queue, r_partition in
    select t.id, t.created_at, t.event_type, t.data, t.consumer_group::text, t.worker_id::text,
           (
             select jsonb_agg(o.trace_name order by o.trace_name)
             from queen.message_trace_names o
             where o.trace_id = t.id
           ),
           t.transaction_id, p.id, q.name::text, p.name
    from queen.message_trace_names n
    join queen.message_traces t on t.id = n.trace_id
    join queen.log_partitions p on p.id = t.partition_id
    join queen.queues q on q.id = p.queue_id
    where n.trace_name = p_trace_name and q.tenant_id = p_tenant
      and (p_before_id is null or (t.created_at, t.id) < (p_before_at, p_before_id))
    order by t.created_at desc, t.id desc
    limit p_limit offset p_offset
  loop
    return next;
    v_bytes := v_bytes + octet_length(r_data);
    exit when v_bytes >= p_bytes_max;
  end loop;
end
$$;
