-- The tasks of a tenant, by name; queues without one are left out:
--   {"tasks":[{"task","queues","partitions","messages":{"total","pending"}}]}
-- Takes no lock. Called by: the task list route.
create or replace function queen.get_tasks_v2(p_tenant uuid default '00000000-0000-0000-0000-000000000001')
returns jsonb
language plpgsql stable
as $$
begin
  return jsonb_build_object('tasks', (
    select coalesce(jsonb_agg(
      jsonb_build_object(
        'task', g.label, 'queues', g.queues, 'partitions', g.partitions,
        'messages', jsonb_build_object('total', g.messages, 'pending', g.pending))
      order by g.label), '[]')
    from (
      select n.r_task as label, count(*) as queues, sum(n.r_partitions) as partitions,
             sum(n.r_messages) as messages, sum(n.r_pending) as pending
      from queen.queue_overview_v1(p_tenant) n
      where n.r_task <> ''
      group by n.r_task
    ) g));
end
$$;
