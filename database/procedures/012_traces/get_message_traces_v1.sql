-- A piece of the traces of one message, oldest first. Those of a partition that is gone can still be read here; those
-- of another tenant's cannot.
--   p_after_at, p_after_id  only behind this trace; null: from the first
--   p_bytes_max  the piece ends with the trace that brings the data to this size; the caller asks again
-- Takes no lock. Called by: the traces of a message.
create or replace function queen.get_message_traces_v1(
  p_partition_id uuid,
  p_transaction_id text,
  p_after_at timestamptz,
  p_after_id uuid,
  p_limit int,
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
  r_names jsonb
)
language plpgsql stable
set plan_cache_mode = force_custom_plan
as $$
declare
  v_bytes bigint := 0;
begin
  if exists (
    select from queen.log_partitions p
    join queen.queues q on q.id = p.queue_id
    where p.id = p_partition_id and q.tenant_id <> p_tenant) then
    return;
  end if;
  for r_id, r_created_at, r_event_type, r_data, r_group, r_worker_id, r_names in
    select t.id, t.created_at, t.event_type, t.data, t.consumer_group::text, t.worker_id::text,
           coalesce(
             (
               select jsonb_agg(n.trace_name order by n.trace_name)
               from queen.message_trace_names n
               where n.trace_id = t.id
             ),
             '[]')
    from queen.message_traces t
    where t.partition_id = p_partition_id
      and left(t.transaction_id, 255) = left(p_transaction_id, 255) and t.transaction_id = p_transaction_id
      and (p_after_id is null or (t.created_at, t.id) > (p_after_at, p_after_id))
    order by t.created_at, t.id
    limit p_limit
  loop
    return next;
    v_bytes := v_bytes + octet_length(r_data);
    exit when v_bytes >= p_bytes_max;
  end loop;
end
$$;
