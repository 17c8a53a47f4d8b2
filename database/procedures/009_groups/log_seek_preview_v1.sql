-- What a seek would do, without doing it: {"partitions":n,"messagesSkipped":n,"messagesReplayed":n}. Skipped are messages
-- that the group has not finished and would never get, replayed those it has finished and would get again.
-- p_partition null: all partitions of the queue. "partitions" 0 when there are none. Where the group has no cursor, it
-- counts from where its first pop would start it. Messages that retention took count on neither side.
-- Exact arithmetic over offsets, in one snapshot. Sequential scans are off as in log_move_cursors_v1. Takes no lock. Called by: the seek routes, with dryRun.
create or replace function queen.log_seek_preview_v1(
  p_group text,
  p_queue text,
  p_partition text,
  p_to_end boolean,
  p_timestamp timestamptz,
  p_tenant uuid default '00000000-0000-0000-0000-000000000001'
)
returns jsonb
language plpgsql stable
set enable_seqscan = off
as $$
declare
  v_queue_id uuid;
  v_pids uuid[];
  v_partitions bigint;
  v_skipped numeric;
  v_replayed numeric;
begin
  select q.id into v_queue_id from queen.queues q where q.tenant_id = p_tenant and q.name = p_queue;
  -- Two texts instead of "p_partition is null or ...", which would keep a plan from using the key.
  if p_partition is null then
    v_pids := array(select l.id from queen.log_partitions l where l.queue_id = v_queue_id);
  else
    v_pids := array(select l.id from queen.log_partitions l where l.queue_id = v_queue_id and l.name = p_partition);
  end if;

  select count(*), sum(greatest(m.target - m.stands, 0)), sum(greatest(m.stands - m.target, 0))
  into v_partitions, v_skipped, v_replayed
  from (
    select
      greatest(l.log_start - 1, case
        when p_to_end then l.last_offset
        else queen.log_cursor_before_v1(l.id, l.log_start, l.last_offset, p_timestamp)
      end) as target,
      greatest(l.log_start - 1, coalesce(c.committed, queen.log_first_cursor_v1(
        l.id, v_queue_id, p_group, l.log_start, l.last_offset, 'all', '', p_tenant))) as stands
    from queen.log_partitions l
    left join queen.log_consumers c on c.partition_id = l.id and c.consumer_group = p_group
    where l.id = any (v_pids)
  ) m;

  return jsonb_build_object(
    'partitions', v_partitions, 'messagesSkipped', coalesce(v_skipped, 0), 'messagesReplayed', coalesce(v_replayed, 0));
end
$$;
