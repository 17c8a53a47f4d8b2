-- Sets the point in time of all subscriptions of a group, and drops its watermarks:
--   {"success":true,"consumerGroup","newTimestamp","rowsUpdated","queues"}; "queues" is for the caller's memory
-- Cursors stay where they are; what changes is where the group starts in partitions it has no cursor for.
-- "newTimestamp" is p_new_timestamp as it came; a text without a zone is UTC.
-- Errors: those of PostgreSQL (class 22) for a text that is no timestamp.
-- Locks, in this order, all waiting: the queue rows by ascending id (FOR KEY SHARE), the notices in the same order, the
-- subscriptions, the watermarks. Called by: the subscription route.
create or replace function queen.update_consumer_group_subscription_v1(
  p_consumer_group text,
  p_new_timestamp text,
  p_tenant uuid default '00000000-0000-0000-0000-000000000001'
)
returns jsonb
language plpgsql
set timezone = 'UTC'
as $$
declare
  v_at timestamptz := p_new_timestamp::timestamptz;
  v_queues text[];
  v_queue_ids uuid[];
  v_rows bigint;
begin
  select coalesce(array_agg(l.id), '{}'), coalesce(array_agg(l.name::text), '{}') into v_queue_ids, v_queues
  from (
    select q.id, q.name
    from queen.queues q
    where q.tenant_id = p_tenant and q.id = any (queen.log_group_queues_v1(p_consumer_group, p_tenant))
    order by q.id
    for key share
  ) l;
  for v_k in 1..cardinality(v_queue_ids) loop
    perform queen.log_note_repair_v1(p_tenant, v_queues[v_k], p_consumer_group, null);
  end loop;

  update queen.consumer_groups_metadata m
  set subscription_timestamp = v_at, subscription_mode = 'timestamp'
  where m.tenant_id = p_tenant and m.consumer_group = p_consumer_group;
  get diagnostics v_rows = row_count;
  delete from queen.consumer_watermarks w
  where w.queue_id = any (v_queue_ids) and w.consumer_group = p_consumer_group;

  return jsonb_build_object(
    'success', true, 'consumerGroup', p_consumer_group, 'newTimestamp', p_new_timestamp, 'rowsUpdated', v_rows,
    'queues', to_jsonb(v_queues));
end
$$;
