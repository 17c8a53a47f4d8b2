-- Removes a group from some queues of one tenant: its cursors, its watermarks, and with p_with_metadata its
-- subscriptions to them. r_cursors is how many cursors there were, r_queues the names of those queues that still exist.
-- Kept subscriptions: the group starts over from their point in time. Removed ones: its next pop is a first contact.
-- A worker that holds a lease loses it; its ack answers that there is no such consumer.
-- Sequential scans are off as in log_move_cursors_v1.
-- Leaves notices for the hot-lists of all brokers.
-- Locks, in this order, all waiting: the queue rows by ascending id (FOR KEY SHARE: not while they are being deleted),
-- the notices in the same order, the subscriptions, the (queue, group) advisory locks in the same order, cursors by
-- ascending partition id, the watermarks.
--   The advisory lock keeps out pops that are creating a cursor of this group this moment; one that slipped through
--   would keep its place. Taken for the first thousand queues only: the server's lock table is finite, and a delete
--   that fails for a very wide group would be worse than one partition that keeps its place.
-- Called by: delete_consumer_group_v1, delete_consumer_group_for_queue_v1.
create or replace function queen.log_forget_group_v1(
  p_queue_ids uuid[],
  p_group text,
  p_with_metadata boolean,
  p_tenant uuid
)
returns table (r_cursors bigint, r_queues text[])
language plpgsql
set enable_seqscan = off
as $$
declare
  v_queue_ids uuid[];
  v_pids uuid[];
begin
  select array_agg(l.id), array_agg(l.name::text) into v_queue_ids, r_queues
  from (
    select q.id, q.name
    from queen.queues q
    where q.tenant_id = p_tenant and q.id = any (p_queue_ids)
    order by q.id
    for key share
  ) l;
  r_cursors := 0;
  if v_queue_ids is null then
    r_queues := '{}';
    return next;
    return;
  end if;

  for v_k in 1..cardinality(v_queue_ids) loop
    perform queen.log_note_repair_v1(p_tenant, r_queues[v_k], p_group, null);
  end loop;
  if p_with_metadata then
    delete from queen.consumer_groups_metadata m
    where m.tenant_id = p_tenant and m.consumer_group = p_group and m.queue_id = any (v_queue_ids);
  end if;
  for v_k in 1..least(cardinality(v_queue_ids), 1000) loop
    perform pg_advisory_xact_lock(hashtextextended(v_queue_ids[v_k]::text || '/' || p_group, 43));
  end loop;

  v_pids := array(
    select c.partition_id
    from queen.log_consumers c
    where c.consumer_group = p_group
      and c.partition_id in (select l.id from queen.log_partitions l where l.queue_id = any (v_queue_ids))
    order by c.partition_id
    for update);
  delete from queen.log_consumers c where c.partition_id = any (v_pids) and c.consumer_group = p_group;
  get diagnostics r_cursors = row_count;
  delete from queen.consumer_watermarks w where w.queue_id = any (v_queue_ids) and w.consumer_group = p_group;
  return next;
end
$$;
