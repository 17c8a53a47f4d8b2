-- log_ack_at_v1 with the partition named: resolves (tenant, queue, partition) and answers "partition not found" when
-- there is none. Locks: those of log_ack_at_v1. Called by: whoever knows names and no partition id.
create or replace function queen.log_ack_v1(
  p_queue text,
  p_partition text,
  p_group text,
  p_worker text,
  p_upto bigint,
  p_ok boolean default true,
  p_acked_count int default 0,
  p_tenant uuid default '00000000-0000-0000-0000-000000000001'
)
returns jsonb
language plpgsql
as $$
declare
  v_partition_id uuid;
begin
  select p.id into v_partition_id
  from queen.queues q
  join queen.log_partitions p on p.queue_id = q.id and p.name = p_partition
  where q.tenant_id = p_tenant and q.name = p_queue;
  if not found then
    return '{"ok":false,"error":"partition not found"}';
  end if;
  return queen.log_ack_at_v1(v_partition_id, p_group, p_worker, p_upto, p_ok, p_acked_count);
end
$$;
