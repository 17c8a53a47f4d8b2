-- Gives the leadership up before its time, so that another broker need not wait for it. No effect for others.
-- Locks: the row of this work. Called by: the retention loop, on shutdown.
create or replace function queen.leader_lease_release_v1(p_name text, p_holder text)
returns boolean
language plpgsql
as $$
begin
  delete from queen.leader_leases l where l.name = p_name and l.holder = p_holder;
  return found;
end
$$;
