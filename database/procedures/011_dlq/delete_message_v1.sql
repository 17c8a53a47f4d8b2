-- Deletes the dead letters of one message address, of all groups. A message in the log cannot be deleted.
--   {"success":true,"partitionId","transactionId","message"} or, when nothing is there, {"success":false,…,"error"}
-- Locks: the dead letters, waiting, by ascending id. Called by: the message delete route.
create or replace function queen.delete_message_v1(p_partition_id uuid, p_transaction_id text, p_tenant uuid)
returns jsonb
language plpgsql
as $$
declare
  v_ids uuid[];
begin
  select array_agg(l.id) into v_ids
  from (
    select d.id
    from queen.log_dlq d
    where d.partition_id = p_partition_id and d.transaction_id = p_transaction_id
      and exists (
        select from queen.log_partitions p
        join queen.queues q on q.id = p.queue_id
        where p.id = p_partition_id and q.tenant_id = p_tenant)
    order by d.id
    for update
  ) l;
  delete from queen.log_dlq d where d.id = any (v_ids);
  if not found then
    return jsonb_build_object(
      'success', false, 'partitionId', p_partition_id, 'transactionId', p_transaction_id,
      'error', 'Message not found',
      'message', 'There is no dead letter at this address; messages in the log cannot be deleted');
  end if;
  return jsonb_build_object(
    'success', true, 'partitionId', p_partition_id, 'transactionId', p_transaction_id,
    'message', 'Message deleted successfully');
end
$$;
