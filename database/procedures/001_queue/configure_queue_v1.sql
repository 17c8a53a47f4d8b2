-- Creates a queue or changes its settings, and returns what they now are:
--   {"configured":true,"queueId","partitionId":null,"queue","namespace","task","storage":"segments","options":{...}}
-- Promises
--   An option that is left out (or null) keeps its value; on a new queue it takes its default. With "mode":"replace"
--   every option left out goes back to its default, namespace and task included.
--   Nothing is stored that does not act: an unknown option is refused.
--   Pausing is no option: a configure, "mode":"replace" included, leaves it as it is.
--   A fault is one exception with SQLSTATE QCONF whose message names the option; nothing is changed then.
-- Locks: the queue row (as an update of non-key columns, so foreign-key checks pass). Waits only for another
-- configure or a delete of the same queue. Creates no partition.
-- Called by: the configure route.
create or replace function queen.configure_queue_v1(
  p_queue_name text,
  p_options jsonb default '{}',
  p_tenant uuid default '00000000-0000-0000-0000-000000000001'
)
returns jsonb
language plpgsql
as $$
declare
  c_known constant text[] := array[
    'mode', 'namespace', 'task', 'priority', 'leaseTime', 'retryLimit', 'retryDelay', 'maxSize', 'ttl',
    'deadLetterQueue', 'dlqAfterMaxRetries', 'delayedProcessing', 'windowBuffer', 'retentionEnabled',
    'retentionSeconds', 'completedRetentionSeconds', 'maxWaitTimeSeconds', 'encryptionEnabled',
    'minPopWaitTime', 'dedupWindowSeconds', 'maxDeliveries'];
  c_any_int constant int := -2147483648;
  v_options jsonb := coalesce(p_options, '{}');
  v_mode text;
  v_replace boolean;
  v_name text;
  v_queue queen.queues;
begin
  if p_queue_name is null or char_length(p_queue_name) > 255 then
    raise exception using
      errcode = 'QCONF', message = 'QCONF: the queue name must be a text of at most 255 characters';
  end if;
  if jsonb_typeof(v_options) <> 'object' then
    raise exception using errcode = 'QCONF', message = 'QCONF: options must be a JSON object';
  end if;

  select k.name into v_name from jsonb_object_keys(v_options) k(name) where k.name <> all (c_known) limit 1;
  if found then
    raise exception using
      errcode = 'QCONF',
      message = format('QCONF: option "%s" is unknown', v_name),
      hint = 'Known options: ' || array_to_string(c_known, ', ');
  end if;

  v_mode := coalesce(queen.queue_option_text_v1(v_options, 'mode'), 'merge');
  if v_mode not in ('merge', 'replace') then
    raise exception using errcode = 'QCONF', message = 'QCONF: option "mode" must be "merge" or "replace"';
  end if;
  v_replace := v_mode = 'replace';

  -- Every value is: the option given, else (replace) its default, else what the queue has. Reading and writing the
  -- queue in one update makes two configures at once merge one after the other, so neither loses a change.
  -- The loop ends after one round unless a delete removes the queue between the two statements.
  loop
    insert into queen.queues (tenant_id, name, namespace, task, lease_time)
    values (p_tenant, p_queue_name, '', '', 300)
    on conflict on constraint queues_tenant_name_uk do nothing;

    update queen.queues q set
      namespace = coalesce(
        queen.queue_option_text_v1(v_options, 'namespace'), case when v_replace then '' else q.namespace end),
      task = coalesce(
        queen.queue_option_text_v1(v_options, 'task'), case when v_replace then '' else q.task end),
      priority = coalesce(
        queen.queue_option_int_v1(v_options, 'priority', c_any_int), case when v_replace then 0 else q.priority end),
      lease_time = coalesce(
        queen.queue_option_int_v1(v_options, 'leaseTime', 1), case when v_replace then 300 else q.lease_time end),
      retry_limit = coalesce(
        queen.queue_option_int_v1(v_options, 'retryLimit', 0), case when v_replace then 3 else q.retry_limit end),
      retry_delay = coalesce(
        queen.queue_option_int_v1(v_options, 'retryDelay', 0), case when v_replace then 0 else q.retry_delay end),
      max_deliveries = coalesce(
        queen.queue_option_int_v1(v_options, 'maxDeliveries', 0),
        case when v_replace then 0 else q.max_deliveries end),
      max_queue_size = coalesce(
        queen.queue_option_int_v1(v_options, 'maxSize', 0), case when v_replace then 0 else q.max_queue_size end),
      ttl = coalesce(queen.queue_option_int_v1(v_options, 'ttl', 0), case when v_replace then 0 else q.ttl end),
      dead_letter_queue = coalesce(
        queen.queue_option_bool_v1(v_options, 'deadLetterQueue'), v_replace or q.dead_letter_queue),
      dlq_after_max_retries = coalesce(
        queen.queue_option_bool_v1(v_options, 'dlqAfterMaxRetries'), v_replace or q.dlq_after_max_retries),
      delayed_processing = coalesce(
        queen.queue_option_int_v1(v_options, 'delayedProcessing', 0),
        case when v_replace then 0 else q.delayed_processing end),
      window_buffer = coalesce(
        queen.queue_option_int_v1(v_options, 'windowBuffer', 0),
        case when v_replace then 0 else q.window_buffer end),
      retention_enabled = coalesce(
        queen.queue_option_bool_v1(v_options, 'retentionEnabled'), not v_replace and q.retention_enabled),
      retention_seconds = coalesce(
        queen.queue_option_int_v1(v_options, 'retentionSeconds', 0),
        case when v_replace then 0 else q.retention_seconds end),
      completed_retention_seconds = coalesce(
        queen.queue_option_int_v1(v_options, 'completedRetentionSeconds', 0),
        case when v_replace then 0 else q.completed_retention_seconds end),
      max_wait_time_seconds = coalesce(
        queen.queue_option_int_v1(v_options, 'maxWaitTimeSeconds', 0),
        case when v_replace then 0 else q.max_wait_time_seconds end),
      encryption_enabled = coalesce(
        queen.queue_option_bool_v1(v_options, 'encryptionEnabled'), not v_replace and q.encryption_enabled),
      -- The two options with a written clamp: out of range means the nearest bound, and the answer shows it.
      min_pop_wait_time = least(60000, greatest(0, coalesce(
        queen.queue_option_int_v1(v_options, 'minPopWaitTime', c_any_int),
        case when v_replace then 0 else q.min_pop_wait_time end))),
      dedup_window_seconds = greatest(0, coalesce(
        queen.queue_option_int_v1(v_options, 'dedupWindowSeconds', c_any_int),
        case when v_replace then 3600 else q.dedup_window_seconds end))
    where q.tenant_id = p_tenant and q.name = p_queue_name
    returning q.* into v_queue;
    exit when found;
  end loop;

  return jsonb_build_object(
    'configured', true, 'queueId', v_queue.id, 'partitionId', null, 'queue', v_queue.name,
    'namespace', coalesce(v_queue.namespace, ''), 'task', coalesce(v_queue.task, ''), 'storage', 'segments',
    'options', jsonb_build_object(
      'priority', v_queue.priority, 'leaseTime', v_queue.lease_time, 'retryLimit', v_queue.retry_limit,
      'retryDelay', v_queue.retry_delay, 'maxSize', v_queue.max_queue_size, 'ttl', v_queue.ttl,
      'deadLetterQueue', v_queue.dead_letter_queue, 'dlqAfterMaxRetries', v_queue.dlq_after_max_retries,
      'delayedProcessing', v_queue.delayed_processing, 'windowBuffer', v_queue.window_buffer,
      'retentionEnabled', v_queue.retention_enabled, 'retentionSeconds', v_queue.retention_seconds,
      'completedRetentionSeconds', v_queue.completed_retention_seconds,
      'maxWaitTimeSeconds', v_queue.max_wait_time_seconds, 'encryptionEnabled', v_queue.encryption_enabled,
      'minPopWaitTime', v_queue.min_pop_wait_time, 'dedupWindowSeconds', v_queue.dedup_window_seconds,
      'maxDeliveries', v_queue.max_deliveries));
end
$$;
