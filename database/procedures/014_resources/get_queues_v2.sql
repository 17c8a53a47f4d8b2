-- All queues of a tenant, newest first:
--   {"queues":[{"id","name","namespace","task","createdAt","partitions","retainedBytes",
--     "messages":{"total","pending","processing"},"segments":{"segments","messages"},"paused":{"pops","pushes"}}]}
-- pending leaves out what is processing. A queue without partitions has no "segments". What is counted when: see
-- queue_overview_v1.
-- Takes no lock. Called by: the queue list route.
create or replace function queen.get_queues_v2(p_tenant uuid default '00000000-0000-0000-0000-000000000001')
returns jsonb
language plpgsql stable
as $$
begin
  return jsonb_build_object('queues', (
    select coalesce(jsonb_agg(
      jsonb_build_object(
        'id', n.r_id, 'name', n.r_name, 'namespace', n.r_namespace, 'task', n.r_task,
        'createdAt', queen.log_utc_iso_ms(n.r_created_at), 'partitions', n.r_partitions,
        'retainedBytes', n.r_retained_bytes,
        'messages', jsonb_build_object(
          'total', n.r_messages, 'pending', greatest(n.r_pending - n.r_processing, 0), 'processing', n.r_processing),
        'paused', jsonb_build_object('pops', n.r_pops_paused, 'pushes', n.r_pushes_paused))
      || case
        when n.r_partitions = 0 then '{}'
        else jsonb_build_object(
          'segments', jsonb_build_object('segments', n.r_segments, 'messages', n.r_messages))
      end
      order by n.r_created_at desc, n.r_name), '[]')
    from queen.queue_overview_v1(p_tenant) n));
end
$$;
