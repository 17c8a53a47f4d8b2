-- Registers a group with a queue: the durable subscription, one cursor for every partition the queue has, and the
-- watermark row. All of it once; a call that finds the subscription leaves cursors alone.
-- Promises: the cursors deliver exactly what log_first_cursor_v1 would choose one by one. They are seeded in bulk
-- because many consumers creating them one by one convoy on each other (hazard Z2): the subscription row elects one
-- seeder, everybody else waits once, for one transaction.
-- Locks, in this order: the queue row (FOR KEY SHARE), the subscription's unique key (waits for a seeder at work,
-- intended), the (queue, group) advisory lock, new cursor rows, the watermark's unique key. The caller holds no
-- cursor yet; with several queues it calls in the order of their ids (hazard Z22).
-- The advisory lock waits for pops that are creating a cursor of this group; they wait for nobody.
-- The watermark row is made here and not when the first scan comes up empty: then the pop would hold cursors, and
-- the foreign-key check of that insert could wait for a delete of the queue, which waits for those cursors.
-- Called by: log_pop_wildcard_bin_v1, log_pop_discover_wire_v1.
create or replace function queen.log_register_group_v1(
  p_queue_id uuid,
  p_group text,
  p_mode text,
  p_at timestamptz,
  p_tenant uuid
)
returns void
language plpgsql
as $$
begin
  perform from queen.queues q where q.id = p_queue_id for key share;
  if not found then
    return;
  end if;

  insert into queen.consumer_groups_metadata (
    tenant_id, consumer_group, queue_id, subscription_mode, subscription_timestamp)
  select p_tenant, p_group, p_queue_id, p_mode, p_at
  where not exists (
    select from queen.consumer_groups_metadata m
    where m.tenant_id = p_tenant and m.consumer_group = p_group and m.queue_id = p_queue_id
      and m.partition_name = '' and m.namespace = '' and m.task = '')
  on conflict on constraint cgm_identity_uk do nothing;

  if found then
    perform pg_advisory_xact_lock(hashtextextended(p_queue_id::text || '/' || p_group, 43));
    insert into queen.log_consumers (partition_id, consumer_group, committed)
    select
      p.id, p_group,
      case p_mode
        when 'timestamp' then queen.log_cursor_before_v1(p.id, p.log_start, p.last_offset, p_at)
        when 'new' then p.last_offset
        else p.log_start - 1
      end
    from queen.log_partitions p
    where p.queue_id = p_queue_id
      -- Those of a large queue are there already (log_seed_slice_v1): a conflict costs far more than a look.
      and not exists (
        select from queen.log_consumers c where c.partition_id = p.id and c.consumer_group = p_group)
    order by p.id
    on conflict do nothing;
  end if;

  insert into queen.consumer_watermarks (queue_id, consumer_group, last_empty_scan_at, updated_at)
  select p_queue_id, p_group, 'epoch', 'epoch'
  where not exists (
    select from queen.consumer_watermarks w where w.queue_id = p_queue_id and w.consumer_group = p_group)
  on conflict do nothing;
end
$$;
