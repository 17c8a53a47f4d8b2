-- Removes a queue with everything it holds: partitions, segments, hash rows, cursors, dead letters, subscriptions,
-- watermarks. Traces stay. Returns {"deleted","queue","existed"}; deleting what is not there is not an error, it
-- answers false, false and a "message".
-- Locks, all waiting: the queue row, then its partitions by ascending id, then cursors by ascending
--   (partition id, group), then dead letters.
--   The queue first: its lock stops new partitions, whose foreign-key check needs the row.
--   Partitions before their hash rows: a push under way commits first and is seen; otherwise its hash row, which no
--   foreign key ties to the partition, would be left behind for ever (hazard Z27).
--   Cursors before dead letters, for the same reason: a message is put aside under its cursor's lock.
-- A push that resolved a partition just before fails with QGONE; its retry creates the queue anew.
-- Called by: the queue delete route.
create or replace function queen.delete_queue_v1(
  p_queue_name text,
  p_tenant uuid default '00000000-0000-0000-0000-000000000001'
)
returns jsonb
language plpgsql
as $$
declare
  v_queue_id uuid;
  v_pids uuid[];
begin
  select q.id into v_queue_id
  from queen.queues q
  where q.tenant_id = p_tenant and q.name = p_queue_name
  for update;
  if not found then
    return jsonb_build_object(
      'deleted', false, 'queue', p_queue_name, 'existed', false,
      'message', 'Queue not found, nothing was deleted');
  end if;

  select array_agg(l.id) into v_pids
  from (
    select p.id from queen.log_partitions p where p.queue_id = v_queue_id order by p.id for update
  ) l;

  -- In the order of everybody who waits for cursors: deleted as a scan finds them, two of them could lock out an ack
  -- flush that holds the one and wants the other.
  perform
  from queen.log_consumers c
  where c.partition_id = any (v_pids)
  order by c.partition_id, c.consumer_group
  for update;

  delete from queen.log_txns t where t.partition_id = any (v_pids);
  delete from queen.log_consumers c where c.partition_id = any (v_pids);
  delete from queen.log_dlq d where d.partition_id = any (v_pids);
  delete from queen.queues q where q.id = v_queue_id;

  return jsonb_build_object('deleted', true, 'queue', p_queue_name, 'existed', true);
end
$$;
