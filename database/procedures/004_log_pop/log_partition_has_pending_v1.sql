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
begin
  return (
    select r.r_pending
    from queen.log_partitions_have_pending_v1(array[p_queue], array[p_partition], array[p_group], array[p_tenant]) r);
end
$$;
