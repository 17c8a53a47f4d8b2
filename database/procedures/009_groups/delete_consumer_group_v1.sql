-- Deletes a group of one tenant in all its queues, cursors and subscriptions in one transaction:
--   {"success":true,"consumerGroup","deletedPartitions","metadataDeleted","queues"}
-- "deletedPartitions" counts cursors; "metadataDeleted" repeats p_delete_metadata; "queues" names the queues concerned, for
-- the caller's memory. An unknown group is no error. Queues it comes to while this runs are not looked at.
-- Locks: those of log_forget_group_v1. Called by: the group delete route.
create or replace function queen.delete_consumer_group_v1(
  p_consumer_group text,
  p_delete_metadata boolean default true,
  p_tenant uuid default '00000000-0000-0000-0000-000000000001'
)
returns jsonb
language plpgsql
as $$
declare
  v_cursors bigint;
  v_queues text[];
begin
  select f.r_cursors, f.r_queues into v_cursors, v_queues
  from queen.log_forget_group_v1(
    queen.log_group_queues_v1(p_consumer_group, p_tenant), p_consumer_group, p_delete_metadata is true, p_tenant) f;
  if p_delete_metadata then
    -- Subscriptions by namespace or task belong to no queue.
    delete from queen.consumer_groups_metadata m
    where m.tenant_id = p_tenant and m.consumer_group = p_consumer_group and m.queue_id is null;
  end if;
  return jsonb_build_object(
    'success', true, 'consumerGroup', p_consumer_group, 'deletedPartitions', v_cursors,
    'metadataDeleted', p_delete_metadata is true, 'queues', to_jsonb(v_queues));
end
$$;
