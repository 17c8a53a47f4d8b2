-- The two switches of maintenance as all brokers shall have them; a switch never set is off.
-- Takes no lock. Called by: the maintenance routes, every broker at start and once a minute.
create or replace function queen.maintenance_flags_v1()
returns table (r_push boolean, r_pop boolean)
language plpgsql stable
as $$
begin
  return query
    select
      coalesce(bool_or(s.value ->> 'enabled' = 'true') filter (where s.key = 'maintenance_mode'), false),
      coalesce(bool_or(s.value ->> 'enabled' = 'true') filter (where s.key = 'pop_maintenance_mode'), false)
    from queen.system_state s
    where s.key in ('maintenance_mode', 'pop_maintenance_mode');
end
$$;
