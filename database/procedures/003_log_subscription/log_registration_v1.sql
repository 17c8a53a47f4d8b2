-- What a pop's subscription parameters mean when its group registers: one row (mode, point in time).
--   queue mode                                  all, epoch: the sentinel group never skips backlog, whatever it asks
--   subscriptionFrom is a timestamp             timestamp, that time
--   subscriptionFrom is text of another kind    new, now: the safe reading of a wish that cannot be understood
--   subscriptionMode new, subscriptionFrom now  new, now
--   anything else                               all, epoch
-- Takes no lock. Called by: log_pop_wildcard_bin_v1, log_pop_discover_wire_v1, on first contact.
create or replace function queen.log_registration_v1(p_group text, p_sub_mode text, p_sub_from text)
returns table (r_mode text, r_at timestamptz)
language plpgsql stable
as $$
begin
  r_mode := 'all';
  r_at := 'epoch';
  if p_group <> '__QUEUE_MODE__' then
    if coalesce(p_sub_from, '') not in ('', 'now') then
      r_at := queen.log_parse_timestamp_v1(p_sub_from);
      r_mode := case when r_at is null then 'new' else 'timestamp' end;
    elsif p_sub_mode = 'new' or p_sub_from = 'now' then
      r_mode := 'new';
    end if;
    if r_mode = 'new' then
      r_at := clock_timestamp();
    end if;
  end if;
  return next;
end
$$;
