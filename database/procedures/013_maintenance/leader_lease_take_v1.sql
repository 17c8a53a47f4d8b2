-- Takes or renews the leadership of some work for p_seconds, by this database's clock: true when p_holder has it now.
-- False is answered without writing anything; somebody else has it and its time is not over.
-- Nothing has to be unlocked: whoever dies, hangs or loses its connection loses the leadership by time (hazard Z20).
-- Locks: the row of this work, for the moment of this call. Called by: the retention loop.
create or replace function queen.leader_lease_take_v1(p_name text, p_holder text, p_seconds int)
returns boolean
language plpgsql
as $$
begin
  update queen.leader_leases l
  set holder = p_holder, expires_at = clock_timestamp() + make_interval(secs => p_seconds)
  where l.name = p_name and (l.holder = p_holder or l.expires_at < clock_timestamp());
  if found then
    return true;
  end if;
  insert into queen.leader_leases (name, holder, expires_at)
  values (p_name, p_holder, clock_timestamp() + make_interval(secs => p_seconds))
  on conflict do nothing;
  return found;
end
$$;
