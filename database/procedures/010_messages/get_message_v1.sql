-- Everything about one message, addressed by partition and transactionId; no row when nothing is known under the
-- address or the partition is another tenant's. When the id occurs more than once the newest counts.
--   r_blob    the segment that holds it, r_off - r_base frames in; null when the message is no longer in the log and
--             only a dead letter is left
--   r_letter_* the newest dead letter of that message; r_letter_id null: there is none
--   r_status  dead_letter; completed when every named group has passed it (without named groups: queue mode);
--             processing while some live lease holds it; else pending
--   r_groups  [{"name","group","consumed","leaseExpiresAt"},…], the named groups of the partition
-- Takes no lock. Called by: the message detail.
create or replace function queen.get_message_v1(
  p_partition_id uuid,
  p_transaction_id text,
  p_hash bytea,
  p_tenant uuid
)
returns table (
  r_queue text,
  r_partition text,
  r_namespace text,
  r_task text,
  r_lease_time int,
  r_retry_limit int,
  r_retry_delay int,
  r_ttl int,
  r_priority int,
  r_base bigint,
  r_end bigint,
  r_off bigint,
  r_created_at timestamptz,
  r_blob bytea,
  r_letter_id uuid,
  r_letter_failed_at timestamptz,
  r_letter_error text,
  r_letter_retry_count int,
  r_letter_message_id uuid,
  r_letter_payload text,
  r_letter_headers text,
  r_letter_trace_id uuid,
  r_letter_producer_sub text,
  r_letter_encrypted boolean,
  r_status text,
  r_lease_expires_at timestamptz,
  r_queue_mode boolean,
  r_group_count int,
  r_groups jsonb
)
language plpgsql stable
as $$
declare
  v_txns_start bigint;
  v_last bigint;
  v_offsets bigint[];
begin
  select q.name::text, p.name, q.namespace::text, q.task::text, q.lease_time, q.retry_limit, q.retry_delay, q.ttl,
         q.priority, p.txns_start, p.last_offset
  into r_queue, r_partition, r_namespace, r_task, r_lease_time, r_retry_limit, r_retry_delay, r_ttl, r_priority,
       v_txns_start, v_last
  from queen.log_partitions p
  join queen.queues q on q.id = p.queue_id
  where p.id = p_partition_id and q.tenant_id = p_tenant;
  if not found then
    return;
  end if;

  v_offsets := queen.log_find_hashes_v1(p_partition_id, array[p_hash], v_txns_start, v_last, true);
  r_off := v_offsets[1];
  if r_off is not null then
    select s.r_base, s.r_end, s.r_created, s.r_blob into r_base, r_end, r_created_at, r_blob
    from queen.log_segment_at_v1(p_partition_id, r_off) s;
  end if;

  select d.id, d."offset", d.failed_at, d.error, coalesce(d.retry_count, 0), d.message_id, d.payload, d.headers,
         d.trace_id, d.producer_sub, d.encrypted
  into r_letter_id, r_off, r_letter_failed_at, r_letter_error, r_letter_retry_count, r_letter_message_id,
       r_letter_payload, r_letter_headers, r_letter_trace_id, r_letter_producer_sub, r_letter_encrypted
  from queen.log_dlq d
  where d.partition_id = p_partition_id
    and case when r_blob is null then d.transaction_id = p_transaction_id else d."offset" = r_off end
  order by d.failed_at desc, d.id desc
  limit 1;
  if not found then
    if r_blob is null then
      return;
    end if;
    r_off := v_offsets[1]; -- an INTO without a row has made it null
  end if;

  select coalesce(bool_or(c.consumer_group = '__QUEUE_MODE__'), false),
         count(*) filter (where c.consumer_group <> '__QUEUE_MODE__')::int,
         max(c.lease_expires_at) filter (
           where c.lease_expires_at >= now() and r_off > c.committed and r_off <= c.batch_end),
         case
           when r_letter_id is not null then 'dead_letter'
           when coalesce(
             bool_and(c.committed >= r_off) filter (where c.consumer_group <> '__QUEUE_MODE__'),
             bool_or(c.committed >= r_off), false) then 'completed'
           when bool_or(c.lease_expires_at >= now() and r_off > c.committed and r_off <= c.batch_end)
             then 'processing'
           else 'pending'
         end,
         coalesce(
           jsonb_agg(
             jsonb_build_object(
               'name', c.consumer_group, 'group', c.consumer_group, 'consumed', c.committed >= r_off,
               'leaseExpiresAt',
               to_char(c.lease_expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"'))
             order by c.consumer_group)
           filter (where c.consumer_group <> '__QUEUE_MODE__'),
           '[]')
  into r_queue_mode, r_group_count, r_lease_expires_at, r_status, r_groups
  from queen.log_consumers c
  where c.partition_id = p_partition_id;
  return next;
end
$$;
