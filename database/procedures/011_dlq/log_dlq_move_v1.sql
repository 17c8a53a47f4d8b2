-- Moves a dead letter back into a log: pushes its message at the tail of a partition and deletes the letter, both or
-- neither. The caller has packed the message as a segment of one, with transactionId `dlq:<letter id>`.
--   {"result":"moved","partitionId","baseOffset"}
--   {"result":"gone"}         no such letter (any more): somebody else moved or deleted it
--   {"result":"duplicate"}    that transactionId is in the partition already; only a client can have pushed it
--   {"result":"maintenance"}  pushes are switched off
-- Of any number of callers exactly one moves a letter, and the letter of another group for the same message stays.
-- Errors: as log_push_one_v1.
-- Locks: as a push (queue and partition keys while creating them, then the partition row), and then the letter, after
-- which nothing is waited for. Deleting a queue takes partitions before letters too; the other order here would
-- deadlock with it.
-- Called by: replay.
create or replace function queen.log_dlq_move_v1(
  p_tenant uuid,
  p_dlq_id uuid,
  p_queue text,
  p_partition text,
  p_hashes bytea,
  p_blob bytea
)
returns jsonb
language plpgsql
as $$
declare
  v_pid uuid;
  v_window int;
  v_pushed jsonb;
begin
  -- A look without a lock first: a letter that is gone must not create the queue it would have gone to.
  if not exists (
    select from queen.log_dlq d
    join queen.log_partitions p on p.id = d.partition_id
    join queen.queues q on q.id = p.queue_id
    where d.id = p_dlq_id and q.tenant_id = p_tenant) then
    return '{"result":"gone"}';
  end if;
  -- A push would go to the spool now, which cannot be part of this transaction.
  if exists (
    select from queen.system_state s
    where s.key = 'maintenance_mode' and s.value ->> 'enabled' = 'true') then
    return '{"result":"maintenance"}';
  end if;

  select r.r_partition_id, r.r_window into v_pid, v_window
  from queen.log_resolve_target_v1(p_queue, p_partition, p_tenant) r;
  if v_pid is null then
    raise exception using errcode = 'QGONE', message = 'QPUSH: the queue was deleted meanwhile, push again';
  end if;
  perform from queen.log_partitions p where p.id = v_pid for no key update;
  if not found then
    raise exception using
      errcode = 'QGONE', message = format('QPUSH: partition %s was deleted meanwhile, push again', v_pid);
  end if;

  perform from queen.log_dlq d where d.id = p_dlq_id for update;
  if not found then
    return '{"result":"gone"}';
  end if;

  v_pushed := queen.log_push_one_v1(
    p_queue, p_partition, 1, p_hashes, -1, p_blob, v_pid, v_window, p_tenant);
  if v_pushed ->> 'status' = 'duplicate' then
    return '{"result":"duplicate"}';
  end if;
  delete from queen.log_dlq d where d.id = p_dlq_id;
  return jsonb_build_object('result', 'moved', 'partitionId', v_pid, 'baseOffset', v_pushed -> 'baseOffset');
end
$$;
