-- The transaction that has held back vacuum the longest in this database, with its age in milliseconds; no row when none
-- does. Until it ends, no row version that died since can be removed: tables grow, and pops walk over what is dead.
-- A transaction counts from when it began once it has a snapshot or an id. A prepared one (r_pid null) counts as well: it
-- outlives its session. A vacuum at work does not: others look past it.
-- Sessions of other users tell their age only to members of pg_read_all_stats, and are passed over without.
-- The text of statements is left out: it may hold what nobody should read in a log.
-- Takes no lock. Called by: every broker, a few times a minute.
create or replace function queen.oldest_transaction_v1()
returns table (r_pid int, r_user text, r_application text, r_state text, r_age_ms bigint)
language plpgsql stable
as $$
begin
  return query
    select t.pid, t.owner, t.application, t.state,
           greatest(extract(epoch from clock_timestamp() - t.began) * 1000, 0)::bigint
    from (
      select a.pid, a.usename::text as owner, a.application_name as application, a.state, a.xact_start as began
      from pg_stat_activity a
      where a.datname = current_database() and a.pid <> pg_backend_pid()
        and (a.backend_xmin is not null or a.backend_xid is not null)
        and a.xact_start is not null and a.backend_type <> 'autovacuum worker'
      union all
      select null, x.owner::text, x.gid, 'prepared', x.prepared
      from pg_prepared_xacts x
      where x.database = current_database()
    ) t
    order by t.began
    limit 1;
end
$$;
