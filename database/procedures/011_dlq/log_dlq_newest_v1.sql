-- The id of the newest dead letter of one message address, whatever its group; null when there is none or the
-- partition is another tenant's.
-- Takes no lock. Called by: retry by address.
create or replace function queen.log_dlq_newest_v1(p_partition_id uuid, p_transaction_id text, p_tenant uuid)
returns uuid
language plpgsql stable
as $$
begin
  return (
    select d.id
    from queen.log_dlq d
    join queen.log_partitions p on p.id = d.partition_id
    join queen.queues q on q.id = p.queue_id
    where d.partition_id = p_partition_id and d.transaction_id = p_transaction_id and q.tenant_id = p_tenant
    order by d.failed_at desc, d.id desc
    limit 1);
end
$$;
