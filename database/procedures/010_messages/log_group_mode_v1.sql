-- How the given partitions are consumed: whether any is in queue mode, and by how many named groups.
-- One row. Takes no lock. Called by: the message list.
create or replace function queen.log_group_mode_v1(p_partition_ids uuid[])
returns table (r_queue_mode boolean, r_groups int)
language plpgsql stable
as $$
begin
  return query
    select coalesce(bool_or(c.consumer_group = '__QUEUE_MODE__'), false),
           count(distinct c.consumer_group) filter (where c.consumer_group <> '__QUEUE_MODE__')::int
    from queen.log_consumers c
    where c.partition_id = any (p_partition_ids);
end
$$;
