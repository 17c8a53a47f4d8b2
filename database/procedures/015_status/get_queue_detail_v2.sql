-- One queue with its settings and a page of its partitions by name, or {"error":"Queue not found"}:
--   {"queue":{"id","name","namespace","task","priority","createdAt","paused":{"pops","pushes"},"config":{"leaseTime",
--     "retryLimit","retryDelay","ttl","maxQueueSize","deadLetterQueue","maxDeliveries"}},
--    "partitions":[{"id","name","createdAt","messages":S,"stats":S,"cursor":{"totalConsumed","batchesConsumed":0},
--      "lastActivity","oldestMessage","newestMessage"}],
--    "totals":{"messages":S},"live","pagination":{"limit","offset","after","next"}}
-- S as in queue_counts_json_v1; totals, "live" and paging as in get_queue_v2. lastActivity is the last write, as far as
-- a second; null for a partition that never had a message.
-- Takes no lock. Called by: the status queue route.
create or replace function queen.get_queue_detail_v2(
  p_queue text,
  p_limit int,
  p_offset bigint,
  p_after text,
  p_tenant uuid default '00000000-0000-0000-0000-000000000001'
)
returns jsonb
language plpgsql stable
as $$
declare
  v_queue queen.queues;
  v_counts record;
  v_page jsonb;
  v_last text;
  v_rows int;
begin
  select q.* into v_queue from queen.queues q where q.tenant_id = p_tenant and q.name = p_queue;
  if not found then
    return '{"error":"Queue not found"}';
  end if;
  select n.* into v_counts from queen.queue_counts_v1(v_queue.id) n;

  select coalesce(jsonb_agg(
           jsonb_build_object(
             'id', n.r_id, 'name', n.r_name, 'createdAt', queen.log_utc_iso_ms(n.r_created_at),
             'messages', n.counts, 'stats', n.counts,
             'cursor', jsonb_build_object('totalConsumed', n.r_consumed, 'batchesConsumed', 0),
             'lastActivity', case when n.r_last_offset >= 0 then queen.log_utc_iso_ms(n.r_last_write_at) end,
             'oldestMessage', queen.log_utc_iso_ms(t.r_oldest), 'newestMessage', queen.log_utc_iso_ms(t.r_newest))
           order by n.r_name), '[]'),
         max(n.r_name), count(*)
  into v_page, v_last, v_rows
  from (
    select c.*, queen.queue_counts_json_v1(
      c.r_messages, c.r_pending, c.r_processing, c.r_dead_letters, c.r_expired) as counts
    from queen.partition_counts_v1(v_queue.id, p_after, p_offset, p_limit) c
  ) n
  cross join lateral queen.partition_ages_v1(n.r_id) t;

  return jsonb_build_object(
    'queue', jsonb_build_object(
      'id', v_queue.id, 'name', v_queue.name, 'namespace', coalesce(v_queue.namespace, ''),
      'task', coalesce(v_queue.task, ''), 'priority', coalesce(v_queue.priority, 0),
      'createdAt', queen.log_utc_iso_ms(v_queue.created_at),
      'paused', jsonb_build_object('pops', v_queue.pops_paused, 'pushes', v_queue.pushes_paused),
      'config', jsonb_build_object(
        'leaseTime', coalesce(v_queue.lease_time, 60), 'retryLimit', coalesce(v_queue.retry_limit, 3),
        'retryDelay', coalesce(v_queue.retry_delay, 0), 'ttl', coalesce(v_queue.ttl, 0),
        'maxQueueSize', coalesce(v_queue.max_queue_size, 0), 'maxDeliveries', v_queue.max_deliveries,
        'deadLetterQueue',
        coalesce(v_queue.dead_letter_queue, true) or coalesce(v_queue.dlq_after_max_retries, true))),
    'partitions', v_page,
    'totals', jsonb_build_object('messages', queen.queue_counts_json_v1(
      v_counts.r_messages, v_counts.r_pending, v_counts.r_processing, v_counts.r_dead_letters,
      v_counts.r_expired)),
    'live', v_counts.r_live,
    'pagination', jsonb_build_object(
      'limit', p_limit, 'offset', p_offset, 'after', p_after,
      'next', case when v_rows = p_limit then v_last end));
end
$$;
