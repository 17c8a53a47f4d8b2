-- The id of a queue, creating its row when it is missing. Null only for the empty name, which is never created here.
-- A row made this way takes the column defaults; namespace is the name up to its first dot (all of it without a
-- dot), task the second dotted part or empty.
-- Locks: the queue's unique key, only while creating it. Then it may wait for another creator of the same name, so
-- callers run it before they hold any partition or cursor; several names in the order (tenant, name).
-- The row is looked up first: inserting on every call would queue all callers behind one row (hazard Z6).
-- Called by: log_push_one_v1, log_push_multi_v1, log_pop_wildcard_bin_v1.
create or replace function queen.provision_queue_v1(p_queue text, p_tenant uuid)
returns uuid
language plpgsql
as $$
declare
  v_id uuid;
begin
  select q.id into v_id from queen.queues q where q.tenant_id = p_tenant and q.name = p_queue;
  if v_id is not null or coalesce(p_queue, '') = '' then
    return v_id;
  end if;

  insert into queen.queues (tenant_id, name, namespace, task)
  values (p_tenant, p_queue, split_part(p_queue, '.', 1), split_part(p_queue, '.', 2))
  on conflict on constraint queues_tenant_name_uk do nothing;

  -- A later command, because a row that won the conflict is invisible to the snapshot of the insert.
  select q.id into v_id from queen.queues q where q.tenant_id = p_tenant and q.name = p_queue;
  return v_id;
end
$$;
