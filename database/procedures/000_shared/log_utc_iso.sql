-- A timestamp as every JSON result writes it: ISO 8601, UTC, microseconds, a literal Z. The conversion to UTC comes
-- first, so the text does not depend on the session's time zone (hazard Z18).
-- SQL and not plpgsql, so that it is inlined into its caller; it uses nothing of ours.
-- Takes no lock. Called by: push, ack and lease procedures.
create or replace function queen.log_utc_iso(p_at timestamptz)
returns text
language sql stable
as $$
  select to_char(p_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
$$;
