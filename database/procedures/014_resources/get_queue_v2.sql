-- One queue with a page of its partitions by name, or {"error":"Queue not found"}:
--   {"id","name","namespace","task","createdAt","paused":{"pops","pushes"},
--    "partitions":[{"id","name","createdAt","stats":S,"oldestMessage","newestMessage"}],"totals":S,"live",
--    "retainedBytes","segments":{"segments","messages"},"pagination":{"limit","offset","after","next"}}
-- S as in queue_counts_json_v1. Totals are of the whole queue: counted, or with "live":false as last counted (see
-- queue_counts_v1). retainedBytes and segments are as last weighed; segments of a small queue are counted.
--   p_after  the page begins behind this name; "next" is what to give for the page after, null on the last one
-- Takes no lock. Called by: the queue detail route.
create or replace function queen.get_queue_v2(
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
  c_segments_counted constant int := 10000;
  v_queue queen.queues;
  v_counts record;
  v_bytes bigint;
  v_segments bigint;
  v_counted bigint;
  v_page jsonb;
  v_last text;
  v_rows int;
begin
  select q.* into v_queue from queen.queues q where q.tenant_id = p_tenant and q.name = p_queue;
  if not found then
    return '{"error":"Queue not found"}';
  end if;
  select n.* into v_counts from queen.queue_counts_v1(v_queue.id) n;
  select s.segments, s.retained_bytes into v_segments, v_bytes
  from queen.queue_stats s
  where s.queue_id = v_queue.id;

  if v_counts.r_live and coalesce(v_segments, 0) <= c_segments_counted then
    select count(*) into v_counted
    from (
      select
      from queen.log_partitions p
      cross join lateral (
        select from queen.log_segments s where s.partition_id = p.id limit c_segments_counted + 1 offset 0
      ) s
      where p.queue_id = v_queue.id and p.name >= ''
      limit c_segments_counted + 1
    ) n;
    if v_counted <= c_segments_counted then
      v_segments := v_counted;
    end if;
  end if;

  select coalesce(jsonb_agg(
           jsonb_build_object(
             'id', n.r_id, 'name', n.r_name, 'createdAt', queen.log_utc_iso_ms(n.r_created_at),
             'stats', queen.queue_counts_json_v1(
               n.r_messages, n.r_pending, n.r_processing, n.r_dead_letters, n.r_expired),
             'oldestMessage', queen.log_utc_iso_ms(t.oldest), 'newestMessage', queen.log_utc_iso_ms(t.newest))
           order by n.r_name), '[]'),
         max(n.r_name), count(*)
  into v_page, v_last, v_rows
  from queen.partition_counts_v1(v_queue.id, p_after, p_offset, p_limit) n
  cross join lateral queen.partition_ages_v1(n.r_id) t(oldest, newest);

  return jsonb_build_object(
    'id', v_queue.id, 'name', v_queue.name, 'namespace', coalesce(v_queue.namespace, ''),
    'task', coalesce(v_queue.task, ''), 'createdAt', queen.log_utc_iso_ms(v_queue.created_at),
    'paused', jsonb_build_object('pops', v_queue.pops_paused, 'pushes', v_queue.pushes_paused),
    'partitions', v_page,
    'totals', queen.queue_counts_json_v1(
      v_counts.r_messages, v_counts.r_pending, v_counts.r_processing, v_counts.r_dead_letters, v_counts.r_expired),
    'live', v_counts.r_live,
    'retainedBytes', case when v_counts.r_messages > 0 then coalesce(v_bytes, 0) else 0 end,
    'segments', jsonb_build_object('segments', coalesce(v_segments, 0), 'messages', v_counts.r_messages),
    'pagination', jsonb_build_object(
      'limit', p_limit, 'offset', p_offset, 'after', p_after,
      'next', case when v_rows = p_limit then v_last end));
end
$$;
