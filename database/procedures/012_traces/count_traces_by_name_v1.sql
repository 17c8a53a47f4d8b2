-- How many traces get_traces_by_name_v1 would list without a limit.
-- Takes no lock. Called by: traces by name.
create or replace function queen.count_traces_by_name_v1(p_trace_name text, p_tenant uuid)
returns bigint
language plpgsql stable
as $$
begin
  return (
    select count(*)
    from queen.message_trace_names n
    join queen.message_traces t on t.id = n.trace_id
    join queen.log_partitions p on p.id = t.partition_id
    join queen.queues q on q.id = p.queue_id
    where n.trace_name = p_trace_name and q.tenant_id = p_tenant);
end
$$;
