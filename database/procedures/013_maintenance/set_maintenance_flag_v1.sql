-- Sets one of the switches of maintenance, for every broker and past restarts.
--   p_key  maintenance_mode (pushes go to the spool) or pop_maintenance_mode (pops answer 204)
-- Locks: that row. Called by: the maintenance routes.
create or replace function queen.set_maintenance_flag_v1(p_key text, p_enabled boolean)
returns boolean
language plpgsql
as $$
begin
  insert into queen.system_state (key, value, updated_at)
  values (p_key, jsonb_build_object('enabled', p_enabled), clock_timestamp())
  on conflict (key) do update set value = excluded.value, updated_at = excluded.updated_at;
  return p_enabled;
end
$$;
