-- Makes room for the counts of queues that have none yet, and forgets minutes older than p_keep_days, both at most
-- p_limit rows a call. Returns how many queues were added.
-- A transaction of its own: the foreign-key check waits for a queue that is being deleted, and must not do so while it
-- holds walks that the delete is waiting for.
-- Locks: queue rows (FOR KEY SHARE) in the order of their ids. Called by: the stats loop.
create or replace function queen.stats_prepare_v1(p_keep_days int, p_limit int)
returns int
language plpgsql
set enable_seqscan = on
as $$
declare
  v_before constant timestamptz := clock_timestamp() - make_interval(days => p_keep_days);
  v_ids uuid[];
begin
  select array_agg(n.id order by n.id) into v_ids
  from (
    select q.id
    from queen.queues q
    where not exists (select from queen.queue_walks w where w.queue_id = q.id and w.lane = 'weigh')
    limit p_limit
  ) n;
  if v_ids is not null then
    -- The queue is looked up once more, under its lock: one deleted meanwhile has no row to point to.
    select array_agg(l.id) into v_ids
    from (select q.id from queen.queues q where q.id = any (v_ids) order by q.id for key share) l;
    insert into queen.queue_stats (queue_id) select u.id from unnest(v_ids) u(id) on conflict do nothing;
    insert into queen.queue_walks (queue_id, lane)
    select u.id, k.lane from unnest(v_ids) u(id) cross join unnest(array['count', 'weigh']) k(lane)
    on conflict do nothing;
  end if;

  delete from queen.queue_minutes m
  where (m.minute, m.queue_id) in (
    select x.minute, x.queue_id from queen.queue_minutes x where x.minute < v_before limit p_limit);
  delete from queen.broker_minutes m
  where (m.minute, m.broker) in (
    select x.minute, x.broker from queen.broker_minutes x where x.minute < v_before limit p_limit);
  return coalesce(cardinality(v_ids), 0);
end
$$;
