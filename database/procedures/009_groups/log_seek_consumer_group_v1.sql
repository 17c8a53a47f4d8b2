-- Moves a group's cursors in all partitions of a queue: to the end, or to a point in time (log_move_cursors_v1).
--   {"success":true,"consumerGroup","queueName","seekToEnd","targetTimestamp","partitionsUpdated"}
--   {"success":false,"error",...,"partitionsUpdated":0}: nothing to seek to, no such queue, or no partition in it
-- A partition created meanwhile is not moved; the group starts there as in any new partition.
-- The group's watermark goes, or cold partitions would stay hidden from scans (hazard Z33), and a notice is left for the
-- hot-lists of all brokers.
-- Locks, in this order, all waiting: the queue row (FOR KEY SHARE: not while it is being deleted), the notice, the
-- (queue, group) advisory lock, the partitions (FOR KEY SHARE, ascending: writers pass, a cleanup steps over them),
-- cursors ascending, the watermark.
--   The advisory lock waits for pops that are creating a cursor of this group, which wait for nobody; from then on
--   their try fails and they skip. One lock for all partitions: one for each would fill the server's lock table.
-- Called by: the seek route.
create or replace function queen.log_seek_consumer_group_v1(
  p_group text,
  p_queue text,
  p_to_end boolean default false,
  p_timestamp timestamptz default null,
  p_tenant uuid default '00000000-0000-0000-0000-000000000001'
)
returns jsonb
language plpgsql
as $$
declare
  v_queue_id uuid;
  v_pids uuid[];
  v_updated bigint;
begin
  if p_to_end is not true and p_timestamp is null then
    return jsonb_build_object(
      'success', false, 'error', 'Must specify toEnd=true or a timestamp',
      'consumerGroup', p_group, 'queueName', p_queue, 'partitionsUpdated', 0);
  end if;

  select q.id into v_queue_id
  from queen.queues q
  where q.tenant_id = p_tenant and q.name = p_queue
  for key share;
  if not found or not exists (select from queen.log_partitions l where l.queue_id = v_queue_id) then
    return jsonb_build_object(
      'success', false, 'error', 'Queue not found or has no partitions',
      'consumerGroup', p_group, 'queueName', p_queue, 'partitionsUpdated', 0);
  end if;

  perform queen.log_note_repair_v1(p_tenant, p_queue, p_group, null);
  perform pg_advisory_xact_lock(hashtextextended(v_queue_id::text || '/' || p_group, 43));
  v_pids := array(
    select l.id from queen.log_partitions l where l.queue_id = v_queue_id order by l.id for key share);
  v_updated := queen.log_move_cursors_v1(v_pids, p_group, p_to_end is true, p_timestamp);
  delete from queen.consumer_watermarks w where w.queue_id = v_queue_id and w.consumer_group = p_group;

  return jsonb_build_object(
    'success', true, 'consumerGroup', p_group, 'queueName', p_queue, 'seekToEnd', p_to_end is true,
    'targetTimestamp', case when p_to_end is not true then queen.log_utc_iso_ms(p_timestamp) end,
    'partitionsUpdated', v_updated);
end
$$;
