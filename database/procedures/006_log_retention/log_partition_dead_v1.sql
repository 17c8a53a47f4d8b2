-- Whether nobody misses a partition that was not used since p_cutoff; null for one that does not exist. True when it was
-- created and last written before, holds no segment and no dead letter, and no group was here since: no lease that
-- lives or has no end, none taken, none run out and no cursor made after the cutoff. A lease that ran out long ago is no
-- objection; nobody pops an empty partition to clear it.
-- Takes no lock. Called by: log_partition_cleanup_step_v1, before and again under the row lock.
create or replace function queen.log_partition_dead_v1(p_pid uuid, p_cutoff timestamptz)
returns boolean
language plpgsql stable
as $$
begin
  return (
    select p.created_at < p_cutoff and p.last_write_at < p_cutoff
      and not exists (select from queen.log_segments s where s.partition_id = p.id)
      and not exists (select from queen.log_dlq d where d.partition_id = p.id)
      and not exists (
        select from queen.log_consumers c
        where c.partition_id = p.id
          and (c.batch_end is not null and (c.lease_expires_at is null or c.lease_expires_at >= clock_timestamp())
            or c.lease_expires_at >= p_cutoff or c.lease_acquired_at >= p_cutoff or c.created_at >= p_cutoff))
    from queen.log_partitions p
    where p.id = p_pid);
end
$$;
