-- A piece of the list of dead letters, newest failure first (filters as in log_dlq_matching_v1).
--   p_before_at, p_before_id  only behind this letter in the list; null: from its head
--   p_limit, p_offset         of rows
--   p_bytes_max               the piece ends with the letter that brings payloads to this size; the caller asks again
--                             with that letter, so a list of large payloads is never in one memory
-- Takes no lock. Called by: the dead-letter list.
create or replace function queen.get_dlq_messages_v1(
  p_queue text,
  p_partition text,
  p_group text,
  p_from timestamptz,
  p_to timestamptz,
  p_before_at timestamptz,
  p_before_id uuid,
  p_limit int,
  p_offset int,
  p_bytes_max bigint,
  p_tenant uuid
)
returns table (
  r_id uuid,
  r_failed_at timestamptz,
  r_partition_id uuid,
  r_queue text,
  r_partition text,
  r_group text,
  r_offset bigint,
  r_message_id uuid,
  r_transaction_id text,
  r_error text,
  r_retry_count int,
  r_payload text,
  r_headers text,
  r_trace_id uuid,
  r_producer_sub text,
  r_encrypted boolean
)
language plpgsql stable
set plan_cache_mode = force_custom_plan
as $$
declare
  v_bytes bigint := 0;
begin
  for r_id, r_failed_at, r_partition_id, r_queue, r_partition, r_group, r_offset, r_message_id, r_transaction_id,
      r_error, r_retry_count, r_payload, r_headers, r_trace_id, r_producer_sub, r_encrypted in
    select d.id, d.failed_at, d.partition_id, l.r_queue, l.r_partition, d.consumer_group, d."offset", d.message_id,
           d.transaction_id, d.error, coalesce(d.retry_count, 0), d.payload, d.headers, d.trace_id, d.producer_sub,
           d.encrypted
    from (
      select m.r_id, m.r_failed_at, m.r_queue, m.r_partition
      from queen.log_dlq_matching_v1(p_queue, p_partition, p_group, p_from, p_to, p_tenant) m
      where p_before_id is null or (m.r_failed_at, m.r_id) < (p_before_at, p_before_id)
      order by m.r_failed_at desc, m.r_id desc
      limit p_limit offset p_offset
    ) l
    join queen.log_dlq d on d.id = l.r_id
    order by l.r_failed_at desc, l.r_id desc
  loop
    return next;
    v_bytes := v_bytes + coalesce(octet_length(r_payload), 0);
    exit when v_bytes >= p_bytes_max;
  end loop;
end
$$;
