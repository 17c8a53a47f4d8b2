-- A client's timestamp text, or null when it is none. A text without a zone is UTC, whatever the session says.
-- Only texts that begin with a date are taken: PostgreSQL's own words (now, today, infinity) are no ISO timestamps.
-- Takes no lock; opens a subtransaction, so it stays off the steady path.
-- Called by: log_registration_v1, log_first_cursor_v1.
create or replace function queen.log_parse_timestamp_v1(p_text text)
returns timestamptz
language plpgsql stable
set timezone = 'UTC'
as $$
begin
  if p_text !~ '^\s*\d{4}-\d{2}-\d{2}' then
    return null;
  end if;
  return p_text::timestamptz;
exception
  when data_exception then
    return null;
end
$$;
