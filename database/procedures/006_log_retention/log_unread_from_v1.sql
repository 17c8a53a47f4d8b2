-- The lowest offset of a partition that some existing group has not finished; null when no group exists.
-- Two kinds of group exist: those with a cursor here, and those that subscribed to the queue and have not come to this
-- partition yet. The latter will start where log_first_cursor_v1 puts them: without them, what a fast group has finished
-- would be deleted before a registered group has seen it.
-- Takes no lock. Called by: log_retention_step_v1, log_retention_work_v1.
create or replace function queen.log_unread_from_v1(
  p_partition_id uuid,
  p_queue_id uuid,
  p_log_start bigint,
  p_last_offset bigint
)
returns bigint
language plpgsql stable
as $$
declare
  v_next bigint;
  v_registered record;
begin
  select min(c.committed) + 1 into v_next
  from queen.log_consumers c
  where c.partition_id = p_partition_id;

  for v_registered in
    select m.consumer_group, m.tenant_id
    from queen.consumer_groups_metadata m
    where m.queue_id = p_queue_id and m.partition_name = '' and m.namespace = '' and m.task = ''
      and not exists (
        select from queen.log_consumers c
        where c.partition_id = p_partition_id and c.consumer_group = m.consumer_group)
  loop
    -- Nothing can make it lower than this.
    exit when v_next <= p_log_start;
    v_next := least(v_next, 1 + queen.log_first_cursor_v1(
      p_partition_id, p_queue_id, v_registered.consumer_group, p_log_start, p_last_offset, 'all', '',
      v_registered.tenant_id));
  end loop;
  return v_next;
end
$$;
