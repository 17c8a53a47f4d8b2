-- All that is counted, in one object:
--   {"segPartitions","namespaces":{"count"},"tasks":{"count"},"system":{"queues","partitions","messages","pending",
--    "processing","deadLetters","segments","retainedBytes"},"refreshedAt"}
-- Takes no lock. Called by: the stats refresh route.
create or replace function queen.stats_report_v1(p_tenant uuid default '00000000-0000-0000-0000-000000000001')
returns jsonb
language plpgsql stable
as $$
begin
  return (
    select jsonb_build_object(
      'segPartitions', coalesce(sum(n.r_partitions), 0),
      'namespaces', jsonb_build_object('count', count(distinct n.r_namespace) filter (where n.r_namespace <> '')),
      'tasks', jsonb_build_object('count', count(distinct n.r_task) filter (where n.r_task <> '')),
      'system', jsonb_build_object(
        'queues', count(*), 'partitions', coalesce(sum(n.r_partitions), 0),
        'messages', coalesce(sum(n.r_messages), 0), 'pending', coalesce(sum(n.r_pending), 0),
        'processing', coalesce(sum(n.r_processing), 0), 'deadLetters', coalesce(sum(n.r_dead_letters), 0),
        'segments', coalesce(sum(n.r_segments), 0), 'retainedBytes', coalesce(sum(n.r_retained_bytes), 0)),
      'refreshedAt', queen.log_utc_iso_ms(clock_timestamp()))
    from queen.queue_overview_v1(p_tenant) n);
end
$$;
