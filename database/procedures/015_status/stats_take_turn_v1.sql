-- Takes the turn for some work that one broker at a time does, when the last one was taken p_interval_ms ago: the time
-- of the turn, or null when it is not due. p_interval_ms 0 takes it in any case.
-- Nobody holds anything afterwards, so there is no leader that could die, and none that a pooler could keep alive.
-- This server's clock decides; after it was set back the turn is free.
-- Locks: the row, briefly. Called by: the stats loop, the stats refresh route.
create or replace function queen.stats_take_turn_v1(p_name text, p_interval_ms bigint)
returns timestamptz
language plpgsql
as $$
declare
  v_now timestamptz := clock_timestamp();
  v_taken timestamptz;
begin
  update queen.turns t
  set taken_at = v_now
  where t.name = p_name
    and (t.taken_at <= v_now - p_interval_ms * interval '1 millisecond' or t.taken_at > v_now or p_interval_ms <= 0)
  returning t.taken_at into v_taken;
  return v_taken;
end
$$;
