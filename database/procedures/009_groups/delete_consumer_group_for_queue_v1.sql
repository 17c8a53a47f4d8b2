-- Deletes a group in one queue, as delete_consumer_group_v1 does in all:
--   {"success":true,"consumerGroup","queueName","deletedPartitions","metadataDeleted"}
-- An unknown group or queue is no error.
-- Locks: those of log_forget_group_v1. Called by: the group delete route of a queue.
create or replace function queen.delete_consumer_group_for_queue_v1(
  p_consumer_group text,
  p_queue_name text,
  p_delete_metadata boolean default true,
  p_tenant uuid default '00000000-0000-0000-0000-000000000001'
)
returns jsonb
language plpgsql
as $$
declare
  v_cursors bigint;
begin
  select f.r_cursors into v_cursors
  from queen.log_forget_group_v1(
    array(select q.id from queen.queues q where q.tenant_id = p_tenant and q.name = p_queue_name),
    p_consumer_group, p_delete_metadata is true, p_tenant) f;
  return jsonb_build_object(
    'success', true, 'consumerGroup', p_consumer_group, 'queueName', p_queue_name, 'deletedPartitions', v_cursors,
    'metadataDeleted', p_delete_metadata is true);
end
$$;
