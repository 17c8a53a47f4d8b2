-- Records what an application has to say about a message. {"success":true,"traceId"}; {"success":false,"error"} when
-- the partition is not one of the tenant's, whether it is another's or nobody's: who asks must not learn which. That
-- the message exists is not checked: a trace may come after it is gone.
--   p_data   raw JSON text, kept byte for byte
--   p_names  names to find the trace by, repeats allowed
--   p_tenant null without tenancy: any partition will do, one that is gone as well
-- Locks: none but of its own rows. Called by: the trace route.
create or replace function queen.record_trace_v1(
  p_id uuid,
  p_partition_id uuid,
  p_transaction_id text,
  p_group text,
  p_event_type text,
  p_data text,
  p_names text[],
  p_tenant uuid
)
returns jsonb
language plpgsql
as $$
begin
  if p_tenant is not null and not exists (
    select from queen.log_partitions p
    join queen.queues q on q.id = p.queue_id
    where p.id = p_partition_id and q.tenant_id = p_tenant) then
    return '{"success":false,"error":"Message not found"}';
  end if;
  insert into queen.message_traces (
    id, partition_id, transaction_id, consumer_group, event_type, data, created_at)
  values (p_id, p_partition_id, p_transaction_id, p_group, p_event_type, p_data, clock_timestamp());
  insert into queen.message_trace_names (trace_id, trace_name)
  select distinct p_id, n.name from unnest(p_names) n(name);
  return jsonb_build_object('success', true, 'traceId', p_id);
end
$$;
