-- Looks after a batch whose lease ran out, on a queue with max_deliveries: how many messages the next batch may hold.
--   no bound (2147483647)  the head has not been lost too often
--   1                      one of the messages of the lost batch ends its workers: they go out one by one, so that the
--                          others are not blamed for it; or the head has used up its deliveries and is to be put aside
--                          (log_attempt_v1 then says 0)
-- How it counts, with p_max deliveries allowed
--   A lease that ran out is charged to the head of its batch; a batch that begins elsewhere starts to count anew. The
--   head cannot move past a message that ends every worker, so its count is bound to rise.
--   After p_max - 1 losses (at least one) the messages of that batch go out alone, until the cursor has passed its end.
--   One that is lost alone is the culprit. So a message is delivered at most p_max times, the last time alone; with
--   p_max 1 and larger batches twice, since nobody can know after one loss of many.
-- A refusal (failed, retry) is no loss: its worker lives. The lost lease is cleared here, so that it counts once.
-- Locks: none of its own; the caller holds the cursor row. Called by: log_pop_v1.
create or replace function queen.log_lost_lease_v1(p_partition_id uuid, p_group text, p_max int)
returns int
language plpgsql
as $$
declare
  c_unbounded constant int := 2147483647;
  c_exhausted constant int := -1;
  v_isolate_after constant int := greatest(p_max - 1, 1);
  v_cursor queen.log_consumers;
  v_head bigint;
  v_suspected boolean; -- the head lies in the batch that was lost last
  v_alone boolean;     -- the lease that ran out was of the head alone
begin
  select c.* into v_cursor
  from queen.log_consumers c
  where c.partition_id = p_partition_id and c.consumer_group = p_group;
  v_head := v_cursor.committed + 1;
  v_suspected := coalesce(v_head between v_cursor.lost_offset and v_cursor.lost_end, false);

  if v_cursor.worker_id is not null and v_cursor.batch_end is not null then
    v_alone := v_cursor.batch_end = v_head;
    if v_suspected and v_cursor.lost_count < 0 then
      null; -- leased to be put aside, and its broker died over that: it is put aside now
    elsif v_alone and (
      p_max = 1
      or v_suspected and v_cursor.lost_end > v_cursor.lost_offset and v_cursor.lost_count >= v_isolate_after
      or v_head = v_cursor.lost_offset and v_cursor.lost_count + 1 >= p_max)
    then
      v_cursor.lost_offset := v_head;
      v_cursor.lost_end := v_head;
      v_cursor.lost_count := c_exhausted;
    else
      v_cursor.lost_count := case when v_head = v_cursor.lost_offset then v_cursor.lost_count + 1 else 1 end;
      v_cursor.lost_offset := v_head;
      v_cursor.lost_end := v_cursor.batch_end;
    end if;
    v_suspected := true;
  elsif not v_suspected then
    -- The cursor has left the lost batch behind: nobody has to look at it again.
    v_cursor.lost_offset := null;
    v_cursor.lost_end := null;
    v_cursor.lost_count := 0;
  else
    return case when v_cursor.lost_count < 0 or v_cursor.lost_count >= v_isolate_after then 1 else c_unbounded end;
  end if;

  update queen.log_consumers c
  set worker_id = null, lease_expires_at = null, batch_end = null,
      lost_offset = v_cursor.lost_offset, lost_end = v_cursor.lost_end, lost_count = v_cursor.lost_count
  where c.partition_id = p_partition_id and c.consumer_group = p_group;
  return case
    when v_suspected and (v_cursor.lost_count < 0 or v_cursor.lost_count >= v_isolate_after) then 1
    else c_unbounded
  end;
end
$$;
