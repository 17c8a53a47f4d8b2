-- The counts of a queue or a partition as administration writes them:
--   {"total","pending","processing","completed","failed":null,"deadLetter","expired"}
-- completed is what is retained and neither pending nor put aside. Messages that were stepped over for their age
-- (ttl) are among the completed, and counted in expired, all groups together.
-- SQL and not plpgsql, so that it is inlined into its caller; it uses nothing of ours.
-- Takes no lock. Called by: get_queue_v2, get_queue_detail_v2.
create or replace function queen.queue_counts_json_v1(
  p_messages bigint,
  p_pending bigint,
  p_processing bigint,
  p_dead_letters bigint,
  p_expired bigint
)
returns jsonb
language sql immutable
as $$
  select jsonb_build_object(
    'total', p_messages, 'pending', p_pending, 'processing', p_processing,
    'completed', greatest(p_messages - p_pending - p_dead_letters, 0), 'failed', null,
    'deadLetter', p_dead_letters, 'expired', p_expired)
$$;
