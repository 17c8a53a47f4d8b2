-- The names that traces of the tenant carry, the one used last first:
--   {"trace_names":[{"trace_name","trace_count","message_count","last_seen"},…],"total":number of names}
-- Reads every trace that has a name. Takes no lock. Called by: the list of trace names.
create or replace function queen.get_available_trace_names_v1(p_limit int, p_offset int, p_tenant uuid)
returns jsonb
language plpgsql stable
as $$
begin
  return (
    with named as (
      select n.trace_name, count(*) as traces,
             count(distinct (t.partition_id, t.transaction_id)) as messages, max(t.created_at) as seen
      from queen.message_trace_names n
      join queen.message_traces t on t.id = n.trace_id
      join queen.log_partitions p on p.id = t.partition_id
      join queen.queues q on q.id = p.queue_id
      where q.tenant_id = p_tenant
      group by n.trace_name
    ), page as (
      select * from named order by named.seen desc, named.trace_name limit p_limit offset p_offset
    )
    select jsonb_build_object(
      'trace_names', coalesce(
        (
          select jsonb_agg(
            jsonb_build_object(
              'trace_name', g.trace_name, 'trace_count', g.traces, 'message_count', g.messages,
              'last_seen', queen.log_utc_iso_ms(g.seen))
            order by g.seen desc, g.trace_name)
          from page g
        ),
        '[]'),
      'total', (select count(*) from named)));
end
$$;
