-- Messages pushed over time: {"dataPoints":[{"timestamp","messages"}],"interval","from","to"}, oldest first, without
-- points for times in which nothing was counted. A message is counted in the minute of the count that found it.
-- Without p_to the range ends now, without p_from it begins a day before its end.
--   p_interval  minute, hour or day; points stand at its beginning, in UTC
-- Takes no lock. Called by: the status analytics route.
create or replace function queen.get_analytics_v1(
  p_from timestamptz,
  p_to timestamptz,
  p_interval text,
  p_queue text,
  p_namespace text,
  p_task text,
  p_tenant uuid default '00000000-0000-0000-0000-000000000001'
)
returns jsonb
language plpgsql stable
set enable_seqscan = on
as $$
declare
  v_to timestamptz := coalesce(p_to, clock_timestamp());
  v_from timestamptz := coalesce(p_from, v_to - interval '1 day');
begin
  return jsonb_build_object(
    'dataPoints', (
      select coalesce(jsonb_agg(
        jsonb_build_object('timestamp', queen.log_utc_iso_ms(n.at), 'messages', n.pushed) order by n.at), '[]')
      from (
        select date_trunc(p_interval, m.minute, 'UTC') as at, sum(m.pushed) as pushed
        from queen.queue_minutes m
        join queen.queues q on q.id = m.queue_id
        where m.minute >= date_trunc('minute', v_from) and m.minute <= v_to and q.tenant_id = p_tenant
          and queen.queue_matches_v1(
            q.name::text, coalesce(q.namespace, ''), coalesce(q.task, ''), p_queue, p_namespace, p_task)
        group by 1
      ) n
      where n.pushed > 0),
    'interval', p_interval, 'from', queen.log_utc_iso_ms(v_from), 'to', queen.log_utc_iso_ms(v_to));
end
$$;
