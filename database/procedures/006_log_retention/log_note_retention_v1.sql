-- Adds to the history what a rule removed from a partition. One row a partition, rule and minute: a busy partition loses
-- a few segments in every sweep, and a row for each of them would outgrow the messages.
-- Locks: the row of this minute, which only holders of the partition's row lock touch.
-- Called by: log_retention_step_v1, under that lock.
create or replace function queen.log_note_retention_v1(
  p_partition_id uuid,
  p_type text,
  p_messages bigint,
  p_unread bigint
)
returns void
language plpgsql
as $$
declare
  v_minute timestamptz := date_trunc('minute', clock_timestamp());
begin
  update queen.retention_history h
  set messages_deleted = h.messages_deleted + p_messages, unread_deleted = h.unread_deleted + p_unread
  where h.partition_id = p_partition_id and h.executed_at >= v_minute and h.retention_type = p_type;
  if not found then
    insert into queen.retention_history (
      partition_id, messages_deleted, unread_deleted, retention_type, executed_at)
    values (p_partition_id, p_messages, p_unread, p_type, clock_timestamp());
  end if;
end
$$;
