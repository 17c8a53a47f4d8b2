-- Where a group that has no cursor on a partition starts, in this order:
--   1. its durable subscription to the queue: at the subscription's time, so that a partition created after the group
--      subscribed is delivered whole
--   2. the pop's own wish: from a timestamp, or only what is new
--   3. -1: everything retained
-- Queue mode goes straight to 3: a wish it carries must never make it skip backlog.
-- p_last_offset and p_log_start are the partition's, as the pop read them: what is pushed later is always delivered.
-- Takes no lock. Called by: log_create_cursor_v1.
create or replace function queen.log_first_cursor_v1(
  p_partition_id uuid,
  p_queue_id uuid,
  p_group text,
  p_log_start bigint,
  p_last_offset bigint,
  p_sub_mode text,
  p_sub_from text,
  p_tenant uuid
)
returns bigint
language plpgsql stable
as $$
declare
  v_at timestamptz;
begin
  if p_group = '__QUEUE_MODE__' then
    return -1;
  end if;

  select m.subscription_timestamp into v_at
  from queen.consumer_groups_metadata m
  where m.tenant_id = p_tenant and m.consumer_group = p_group and m.queue_id = p_queue_id
    and m.partition_name = '' and m.namespace = '' and m.task = '';
  if not found and coalesce(p_sub_from, '') not in ('', 'now') then
    v_at := queen.log_parse_timestamp_v1(p_sub_from);
  end if;
  if v_at is not null then
    return queen.log_cursor_before_v1(p_partition_id, p_log_start, p_last_offset, v_at);
  end if;

  if p_sub_from = 'now' or p_sub_mode = 'new' then
    return p_last_offset;
  end if;
  return -1;
end
$$;
