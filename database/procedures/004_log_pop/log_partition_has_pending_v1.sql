-- Whether a pop of this one partition is worth its permit: something retained lies above the group's cursor, or the
-- group has no cursor here, or the partition or queue is unknown.
-- Without a cursor the answer is true even if nothing is there: the first pop seeds the cursor, and put off until
-- data arrives it would seed "only what is new" past the very push that woke it.
-- Takes no lock. Called by: nobody in the broker, which asks about many at once (log_partitions_have_pending_v1).
create or replace function queen.log_partition_has_pending_v1(
  p_queue text,
  p_partition text,
  p_group text,
  p_tenant uuid default '00000000-0000-0000-0000-000000000001'
)
returns boolean
language plpgsql stable
as $$
declare
  v_pending boolean;
begin
  select p.last_offset > greatest(c.committed, p.log_start - 1) into v_pending
  from queen.queues q
  join queen.log_partitions p on p.queue_id = q.id and p.name = p_partition
  join queen.log_consumers c on c.partition_id = p.id and c.consumer_group = p_group
  where q.tenant_id = p_tenant and q.name = p_queue;
  return coalesce(v_pending, true);
end
$$;
