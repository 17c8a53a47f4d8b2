-- A tenant at a glance:
--   {"queues","partitions","namespaces","tasks",
--    "messages":{"total","pending","processing","completed","failed","deadLetter","expired"},
--    "lag":{"time":{"avg","median","min","max"},"offset":{...}},
--    "throughput":{"ingestedPerSecond","processedPerSecond"},"timestamp","statsAge"}
-- Lag is taken over the queues with something pending: time in seconds of their oldest pending message, offset in
-- messages; zeros when there is none. Throughput is that of the last five minutes. statsAge is the age in seconds of
-- the oldest count that went into the answer, -1 when nothing was counted yet.
-- Takes no lock. Called by: the overview route.
create or replace function queen.get_system_overview_v3(p_tenant uuid default '00000000-0000-0000-0000-000000000001')
returns jsonb
language plpgsql stable
as $$
declare
  v_now timestamptz := clock_timestamp();
  v_result jsonb;
  v_throughput jsonb;
begin
  select jsonb_build_object(
    'ingestedPerSecond', round(coalesce(sum(m.pushed), 0) / 300.0, 2),
    'processedPerSecond', round(coalesce(sum(m.consumed), 0) / 300.0, 2))
  into v_throughput
  from queen.queues q
  join queen.queue_minutes m on m.queue_id = q.id
  where q.tenant_id = p_tenant and m.minute > date_trunc('minute', v_now) - interval '5 minutes';

  select jsonb_build_object(
    'queues', count(*), 'partitions', coalesce(sum(n.r_partitions), 0),
    'namespaces', count(distinct n.r_namespace) filter (where n.r_namespace <> ''),
    'tasks', count(distinct n.r_task) filter (where n.r_task <> ''),
    'messages', jsonb_build_object(
      'total', coalesce(sum(n.r_messages), 0), 'pending', coalesce(sum(n.r_pending), 0),
      'processing', coalesce(sum(n.r_processing), 0),
      'completed', coalesce(sum(greatest(n.r_messages - n.r_pending - n.r_dead_letters, 0)), 0), 'failed', 0,
      'deadLetter', coalesce(sum(n.r_dead_letters), 0), 'expired', coalesce(sum(n.r_expired), 0)),
    'lag', jsonb_build_object(
      'time', queen.lag_json_v1(array_agg(n.lag_seconds) filter (where n.lag_seconds is not null)),
      'offset', queen.lag_json_v1(array_agg(n.r_pending::numeric) filter (where n.r_pending > 0))),
    'throughput', v_throughput, 'timestamp', queen.log_utc_iso_ms(v_now),
    'statsAge', coalesce(floor(extract(epoch from v_now - min(n.r_counted_at))), -1)::int)
  into v_result
  from (
    select o.*, round(greatest(extract(epoch from v_now - o.r_oldest_pending_at), 0), 3) as lag_seconds
    from queen.queue_overview_v1(p_tenant) o
  ) n;
  return v_result;
end
$$;
