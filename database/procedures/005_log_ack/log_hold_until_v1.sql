-- Until when a refused batch rests: the queue's retryDelay, doubled with every failure charged to the batch, up to an
-- hour (or the delay itself, where that is longer), and up to a fifth more, so that what failed together does not
-- come back together. Never less than the delay. Null when the queue has none.
--   p_delay_ms  the queue's retry_delay        p_failures  failures charged so far, this one included
-- Takes no lock. Called by: log_ack_by_hash_v1, log_ack_at_v1.
create or replace function queen.log_hold_until_v1(p_delay_ms int, p_failures int)
returns timestamptz
language plpgsql
as $$
declare
  c_longest_ms constant double precision := 3600000;
  c_doublings_max constant int := 20;
begin
  if coalesce(p_delay_ms, 0) <= 0 then
    return null;
  end if;
  return clock_timestamp() + interval '1 millisecond' * (1 + random() / 5) * least(
    p_delay_ms * power(2, least(greatest(p_failures - 1, 0), c_doublings_max)),
    greatest(p_delay_ms, c_longest_ms));
end
$$;
