-- One dead letter with the names of where it came from; no row when it is gone or another tenant's.
-- Takes no lock: a letter never changes, and the move that follows looks again under its lock.
-- Called by: replay.
create or replace function queen.log_dlq_letter_v1(p_id uuid, p_tenant uuid)
returns table (
  r_queue text,
  r_partition text,
  r_payload text,
  r_headers text,
  r_trace_id uuid,
  r_producer_sub text,
  r_encrypted boolean
)
language plpgsql stable
as $$
begin
  return query
    select q.name::text, p.name, d.payload, d.headers, d.trace_id, d.producer_sub, d.encrypted
    from queen.log_dlq d
    join queen.log_partitions p on p.id = d.partition_id
    join queen.queues q on q.id = p.queue_id
    where d.id = p_id and q.tenant_id = p_tenant;
end
$$;
