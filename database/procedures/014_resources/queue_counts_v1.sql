-- What one queue holds now, as far as that can be counted at a bounded price; one row. Meanings as in queue_stats.
-- Up to p_live_max partitions are counted (r_live true); a larger queue answers with its last count, or with zeros
-- before the first.
-- Sequential scans are off for the reason given in log_pop_candidates_v1.
-- Takes no lock. Called by: get_queue_v2, get_queue_detail_v2, queue_backlog_v1.
create or replace function queen.queue_counts_v1(p_queue_id uuid, p_live_max int default 10000)
returns table (
  r_partitions bigint,
  r_messages bigint,
  r_pending bigint,
  r_processing bigint,
  r_dead_letters bigint,
  r_expired bigint,
  r_live boolean
)
language plpgsql stable
set enable_seqscan = off
as $$
begin
  select count(*) into r_partitions
  from (
    select from queen.log_partitions p where p.queue_id = p_queue_id and p.name >= '' limit p_live_max + 1
  ) n;
  r_live := r_partitions <= p_live_max;

  if r_live then
    select coalesce(sum(n.r_messages), 0), coalesce(sum(n.r_pending), 0), coalesce(sum(n.r_processing), 0),
           coalesce(sum(n.r_dead_letters), 0), coalesce(sum(n.r_expired), 0)
    into r_messages, r_pending, r_processing, r_dead_letters, r_expired
    from queen.partition_counts_v1(p_queue_id, null, 0, p_live_max) n;
  else
    select s.partitions, s.messages, s.pending, s.processing, s.dead_letters, s.expired
    into r_partitions, r_messages, r_pending, r_processing, r_dead_letters, r_expired
    from queen.queue_stats s
    where s.queue_id = p_queue_id;
    if not found then
      r_messages := 0;
      r_pending := 0;
      r_processing := 0;
      r_dead_letters := 0;
      r_expired := 0;
    end if;
  end if;
  return next;
end
$$;
