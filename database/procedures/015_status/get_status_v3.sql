-- The state of a tenant's queues and of the brokers over a range of time:
--   {"timeRange":{"from","to"},"bucketMinutes","pointCount",
--    "throughput":[{"timestamp","ingested","processed","ingestedPerSecond","processedPerSecond"}],
--    "queues":[{"id","name","namespace","task","partitions","totalConsumed"}],
--    "messages":{"total","pending","processing","completed","failed","deadLetter","expired",
--      "requests":{"push","pop","ack"},"batchEfficiency":{"push","pop","ack"}},
--    "leases":{"active","partitionsWithLeases","totalBatchSize","totalAcked":0},
--    "deadLetterQueue":{"totalMessages","currentMessages","affectedPartitions","topErrors":[{"error","count"}]},
--    "workers":[{"broker","lastSeen","pushMessages","popMessages","ackMessages"}],
--    "errors":{"dbErrors","ackFailed","dlqMessages"},"statsAge"}
-- Without p_to the range ends now, without p_from it begins an hour before its end.
-- Counts, leases and dead letters are as last counted (queue_stats), of the queues that match. Requests, workers and
-- errors are those of all brokers and all queues: brokers do not keep them by queue. batchEfficiency is messages per
-- request. topErrors looks at the newest 10,000 dead letters.
-- Takes no lock. Called by: the status route.
create or replace function queen.get_status_v3(
  p_from timestamptz,
  p_to timestamptz,
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
  c_queues_max constant int := 1000;
  c_brokers_max constant int := 100;
  c_errors_max constant int := 10;
  c_letters_max constant int := 10000;
  v_now timestamptz := clock_timestamp();
  v_to timestamptz := coalesce(p_to, v_now);
  v_from timestamptz := coalesce(p_from, v_to - interval '1 hour');
  v_since timestamptz := date_trunc('minute', v_from); -- the minute rows of the range
  v_minutes int := case
    when v_to - v_from <= interval '2 hours' then 1
    when v_to - v_from <= interval '12 hours' then 5
    when v_to - v_from <= interval '2 days' then 15
    when v_to - v_from <= interval '14 days' then 60
    else 1440
  end;
  v_ids uuid[];
  v_queues jsonb;
  v_messages jsonb;
  v_age int;
  v_leases jsonb;
  v_letters jsonb;
  v_throughput jsonb;
  v_points int;
  v_errors jsonb;
  v_brokers record;
begin
  select array_agg(n.r_id),
         coalesce(jsonb_agg(
           jsonb_build_object(
             'id', n.r_id, 'name', n.r_name, 'namespace', n.r_namespace, 'task', n.r_task,
             'partitions', n.r_partitions, 'totalConsumed', n.r_consumed)
           order by n.place) filter (where n.place <= c_queues_max), '[]'),
         jsonb_build_object(
           'total', coalesce(sum(n.r_messages), 0), 'pending', coalesce(sum(n.r_pending), 0),
           'processing', coalesce(sum(n.r_processing), 0),
           'completed', coalesce(sum(greatest(n.r_messages - n.r_pending - n.r_dead_letters, 0)), 0), 'failed', 0,
           'deadLetter', coalesce(sum(n.r_dead_letters), 0), 'expired', coalesce(sum(n.r_expired), 0)),
         coalesce(floor(extract(epoch from v_now - min(n.r_counted_at))), -1)::int
  into v_ids, v_queues, v_messages, v_age
  from (
    select o.*, row_number() over (order by o.r_consumed desc, o.r_name) as place
    from queen.queue_overview_v1(p_tenant) o
    where queen.queue_matches_v1(o.r_name, o.r_namespace, o.r_task, p_queue, p_namespace, p_task)
  ) n;

  select jsonb_build_object(
           'active', coalesce(sum(s.leases), 0), 'partitionsWithLeases', coalesce(sum(s.leased_partitions), 0),
           'totalBatchSize', coalesce(sum(s.processing), 0), 'totalAcked', 0),
         jsonb_build_object(
           'totalMessages', coalesce(sum(s.dead_letters), 0), 'currentMessages', coalesce(sum(s.dead_letters), 0),
           'affectedPartitions', coalesce(sum(s.dead_partitions), 0))
  into v_leases, v_letters
  from queen.queue_stats s
  where s.queue_id = any (v_ids);

  select coalesce(jsonb_agg(jsonb_build_object('error', n.error, 'count', n.letters) order by n.letters desc, n.error),
                  '[]')
  into v_errors
  from (
    select coalesce(d.error, '') as error, count(*) as letters
    from (
      select x.partition_id, x.error from queen.log_dlq x order by x.failed_at desc, x.id desc limit c_letters_max
    ) d
    join queen.log_partitions p on p.id = d.partition_id
    where p.queue_id = any (v_ids)
    group by 1
    order by 2 desc, 1
    limit c_errors_max
  ) n;

  select coalesce(jsonb_agg(
           jsonb_build_object(
             'timestamp', queen.log_utc_iso_ms(n.at), 'ingested', n.pushed, 'processed', n.consumed,
             'ingestedPerSecond', round(n.pushed / (60.0 * v_minutes), 2),
             'processedPerSecond', round(n.consumed / (60.0 * v_minutes), 2))
           order by n.at), '[]'),
         count(*)
  into v_throughput, v_points
  from (
    select date_bin(v_minutes * interval '1 minute', m.minute, 'epoch') as at,
           sum(m.pushed) as pushed, sum(m.consumed) as consumed
    from queen.queue_minutes m
    where m.minute >= v_since and m.minute <= v_to and m.queue_id = any (v_ids)
    group by 1
  ) n;

  select coalesce(sum(n.push_requests), 0) as push_requests, coalesce(sum(n.push_messages), 0) as push_messages,
         coalesce(sum(n.pop_requests), 0) as pop_requests, coalesce(sum(n.pop_messages), 0) as pop_messages,
         coalesce(sum(n.ack_requests), 0) as ack_requests, coalesce(sum(n.ack_messages), 0) as ack_messages,
         jsonb_build_object(
           'dbErrors', coalesce(sum(n.database_errors), 0), 'ackFailed', coalesce(sum(n.ack_failures), 0),
           'dlqMessages', coalesce(sum(n.dead_letters), 0)) as errors,
         coalesce(jsonb_agg(
           jsonb_build_object(
             'broker', n.broker, 'lastSeen', queen.log_utc_iso_ms(n.last_minute), 'pushMessages', n.push_messages,
             'popMessages', n.pop_messages, 'ackMessages', n.ack_messages)
           order by n.last_minute desc, n.broker) filter (where n.place <= c_brokers_max), '[]') as workers
  into v_brokers
  from (
    select m.broker, max(m.minute) as last_minute,
           row_number() over (order by max(m.minute) desc, m.broker) as place,
           sum(m.push_requests) as push_requests, sum(m.push_messages) as push_messages,
           sum(m.pop_requests) as pop_requests, sum(m.pop_messages) as pop_messages,
           sum(m.ack_requests) as ack_requests, sum(m.ack_messages) as ack_messages,
           sum(m.database_errors) as database_errors, sum(m.ack_failures) as ack_failures,
           sum(m.dead_letters) as dead_letters
    from queen.broker_minutes m
    where m.minute >= v_since and m.minute <= v_to
    group by m.broker
  ) n;

  return jsonb_build_object(
    'timeRange', jsonb_build_object('from', queen.log_utc_iso_ms(v_from), 'to', queen.log_utc_iso_ms(v_to)),
    'bucketMinutes', v_minutes, 'pointCount', v_points, 'throughput', v_throughput, 'queues', v_queues,
    'messages', v_messages || jsonb_build_object(
      'requests', jsonb_build_object(
        'push', v_brokers.push_requests, 'pop', v_brokers.pop_requests, 'ack', v_brokers.ack_requests),
      'batchEfficiency', jsonb_build_object(
        'push', round(coalesce(v_brokers.push_messages / nullif(v_brokers.push_requests, 0), 0), 2),
        'pop', round(coalesce(v_brokers.pop_messages / nullif(v_brokers.pop_requests, 0), 0), 2),
        'ack', round(coalesce(v_brokers.ack_messages / nullif(v_brokers.ack_requests, 0), 0), 2))),
    'leases', v_leases, 'deadLetterQueue', v_letters || jsonb_build_object('topErrors', v_errors),
    'workers', v_brokers.workers, 'errors', v_brokers.errors, 'statsAge', v_age);
end
$$;
