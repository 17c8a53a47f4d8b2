-- Moves a group's cursor in one partition: to the end, or to a point in time (log_move_cursors_v1).
--   {"success":true,"consumerGroup","queueName","partitionName","seekToEnd","targetTimestamp","updated":true}
--   {"success":false,"error",...,"updated":false}: nothing to seek to, or no such partition
-- Watermark, notice and locks are those of log_seek_consumer_group_v1, with one partition.
-- Called by: the seek route of a partition.
create or replace function queen.log_seek_partition_v1(
  p_group text,
  p_queue text,
  p_partition text,
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
begin
  if p_to_end is not true and p_timestamp is null then
    return jsonb_build_object(
      'success', false, 'error', 'Must specify toEnd=true or a timestamp',
      'consumerGroup', p_group, 'queueName', p_queue, 'partitionName', p_partition, 'updated', false);
  end if;

  select q.id into v_queue_id
  from queen.queues q
  where q.tenant_id = p_tenant and q.name = p_queue
  for key share;
  if not found or not exists (
    select from queen.log_partitions l where l.queue_id = v_queue_id and l.name = p_partition) then
    return jsonb_build_object(
      'success', false, 'error', 'Partition not found',
      'consumerGroup', p_group, 'queueName', p_queue, 'partitionName', p_partition, 'updated', false);
  end if;

  perform queen.log_note_repair_v1(p_tenant, p_queue, p_group, p_partition);
  perform pg_advisory_xact_lock(hashtextextended(v_queue_id::text || '/' || p_group, 43));
  v_pids := array(
    select l.id from queen.log_partitions l where l.queue_id = v_queue_id and l.name = p_partition for key share);
  perform queen.log_move_cursors_v1(v_pids, p_group, p_to_end is true, p_timestamp);
  delete from queen.consumer_watermarks w where w.queue_id = v_queue_id and w.consumer_group = p_group;

  return jsonb_build_object(
    'success', true, 'consumerGroup', p_group, 'queueName', p_queue, 'partitionName', p_partition,
    'seekToEnd', p_to_end is true,
    'targetTimestamp', case when p_to_end is not true then queen.log_utc_iso_ms(p_timestamp) end, 'updated', true);
end
$$;
