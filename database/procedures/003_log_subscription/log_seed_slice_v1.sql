-- Seeds the cursors of one slice of a large queue's partitions ahead of the group's registration, so that no single
-- statement has to write a million of them: it would meet its timeout, and start from nothing at the next attempt.
-- Answers the last partition name of the slice, to be given as p_after to the next call; null when there is none left.
-- Promises
--   A queue that one slice would hold (p_limit partitions or fewer) is left alone: log_register_group_v1 does it whole.
--   Each cursor is what the registration would seed: its own insert skips the rows that are there. In mode `new` a
--   partition starts where it ended when its slice ran, so the group also gets what came while the rest was seeded.
--   A call that is repeated, or made by several brokers, changes nothing more.
-- Locks, in this order: the queue row (FOR KEY SHARE), the (queue, group) advisory lock (waits for other seeders and for
-- pops that are creating a cursor of this group, who wait for nobody), new cursor rows in the order of partition ids.
-- Called by: the serve path, before a group's first contact with a queue.
create or replace function queen.log_seed_slice_v1(
  p_queue text,
  p_group text,
  p_after text,
  p_limit int,
  p_sub_mode text default 'all',
  p_sub_from text default '',
  p_tenant uuid default '00000000-0000-0000-0000-000000000001'
)
returns text
language plpgsql
as $$
declare
  v_queue_id uuid;
  v_mode text;
  v_at timestamptz;
  v_last text;
begin
  select q.id into v_queue_id
  from queen.queues q
  where q.tenant_id = p_tenant and q.name = p_queue
  for key share;
  if not found then
    return null;
  end if;
  if p_after is null and not exists (
    select from queen.log_partitions p where p.queue_id = v_queue_id offset p_limit limit 1)
  then
    return null;
  end if;

  select r.r_mode, r.r_at into v_mode, v_at from queen.log_registration_v1(p_group, p_sub_mode, p_sub_from) r;
  perform pg_advisory_xact_lock(hashtextextended(v_queue_id::text || '/' || p_group, 43));
  with slice as materialized (
    select p.id, p.name, p.log_start, p.last_offset
    from queen.log_partitions p
    where p.queue_id = v_queue_id and p.name > coalesce(p_after, '')
    order by p.name
    limit p_limit
  ),
  seeded as (
    insert into queen.log_consumers (partition_id, consumer_group, committed)
    select
      s.id, p_group,
      case v_mode
        when 'timestamp' then queen.log_cursor_before_v1(s.id, s.log_start, s.last_offset, v_at)
        when 'new' then s.last_offset
        else s.log_start - 1
      end
    from slice s
    where not exists (
      select from queen.log_consumers c where c.partition_id = s.id and c.consumer_group = p_group)
    order by s.id
    on conflict do nothing
  )
  select max(s.name) into v_last from slice s;
  return v_last;
end
$$;
