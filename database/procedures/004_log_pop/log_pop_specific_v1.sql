-- Pop of one named partition: one row per segment, none when there is nothing to take.
-- Promises: what log_pop_v1 promises, and every row carries the partition's id. The id (and the attempt) is read in a
-- later command than the claim, so with a snapshot at least as new: read in the same command, a pop racing the
-- commit that created the partition delivered a leased batch without an id (hazard Z9).
-- An unknown queue or partition creates nothing. r_state, r_last_off and r_wait_ms are always null here.
-- Locks: those of log_pop_v1; never waits. Called by: the single-partition route; wake hints without the hot-list.
create or replace function queen.log_pop_specific_v1(
  p_queue text,
  p_partition text,
  p_group text,
  p_budget int,
  p_lease_seconds int,
  p_worker text,
  p_auto_ack boolean,
  p_sub_mode text,
  p_sub_from text,
  p_tenant uuid default '00000000-0000-0000-0000-000000000001'
)
returns table (
  r_queue text,
  r_partition text,
  r_partition_id uuid,
  r_base bigint,
  r_start_idx int,
  r_take int,
  r_msg_count int,
  r_created_at timestamptz,
  r_blob bytea,
  r_attempt int,
  r_state text,
  r_last_off bigint,
  r_wait_ms int
)
language plpgsql
as $$
begin
  r_queue := p_queue;
  r_partition := p_partition;
  -- The claim is complete before the first row comes out: a plpgsql function hands over its whole result at once.
  for r_base, r_start_idx, r_take, r_msg_count, r_created_at, r_blob in
    select s.r_base, s.r_start_idx, s.r_take, s.r_msg_count, s.r_created_at, s.r_blob
    from queen.log_pop_v1(
      p_queue, p_partition, p_group, p_budget, p_lease_seconds, p_worker, p_auto_ack, p_sub_mode, p_sub_from,
      false, p_tenant) s
  loop
    if r_partition_id is null then
      select p.id, queen.log_attempt_v1(
               p_auto_ack, c.attempt_count, c.attempt_offset, c.lost_count, c.lost_offset)
      into r_partition_id, r_attempt
      from queen.queues q
      join queen.log_partitions p on p.queue_id = q.id and p.name = p_partition
      join queen.log_consumers c on c.partition_id = p.id and c.consumer_group = p_group
      where q.tenant_id = p_tenant and q.name = p_queue;
    end if;
    return next;
  end loop;
end
$$;
