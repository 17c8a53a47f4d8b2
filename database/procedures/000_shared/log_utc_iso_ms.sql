-- A timestamp as the JSON of administration writes it: ISO 8601, UTC, milliseconds, a literal Z; see log_utc_iso for the
-- message paths. SQL and not plpgsql, so that it is inlined into its caller; it uses nothing of ours.
-- Takes no lock. Called by: administrative procedures.
create or replace function queen.log_utc_iso_ms(p_at timestamptz)
returns text
language sql stable
as $$
  select to_char(p_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$;
