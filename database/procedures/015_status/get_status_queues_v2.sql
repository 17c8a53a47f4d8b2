-- A page of queues by name with their counts:
--   {"queues":[{"id","name","namespace","task","createdAt","partitions",
--     "messages":{"total","pending","processing","completed","deadLetter"}}],"pagination":{"limit","offset"}}
-- What is counted when: see queue_overview_v1. Takes no lock. Called by: the status queues route.
create or replace function queen.get_status_queues_v2(
  p_limit int,
  p_offset bigint,
  p_queue text,
  p_namespace text,
  p_task text,
  p_tenant uuid default '00000000-0000-0000-0000-000000000001'
)
returns jsonb
language plpgsql stable
as $$
begin
  return jsonb_build_object(
    'queues', (
      select coalesce(jsonb_agg(
        jsonb_build_object(
          'id', n.r_id, 'name', n.r_name, 'namespace', n.r_namespace, 'task', n.r_task,
          'createdAt', queen.log_utc_iso_ms(n.r_created_at), 'partitions', n.r_partitions,
          'messages', jsonb_build_object(
            'total', n.r_messages, 'pending', n.r_pending, 'processing', n.r_processing,
            'completed', greatest(n.r_messages - n.r_pending - n.r_dead_letters, 0),
            'deadLetter', n.r_dead_letters))
        order by n.r_name), '[]')
      from (
        select o.*
        from queen.queue_overview_v1(p_tenant) o
        where queen.queue_matches_v1(o.r_name, o.r_namespace, o.r_task, p_queue, p_namespace, p_task)
        order by o.r_name
        offset p_offset
        limit p_limit
      ) n),
    'pagination', jsonb_build_object('limit', p_limit, 'offset', p_offset));
end
$$;
