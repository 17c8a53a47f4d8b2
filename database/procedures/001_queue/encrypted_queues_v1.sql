-- The queues whose payloads are to be encrypted, one row each.
-- Found through an index that holds nothing else, so every broker with a key can ask once a second.
-- Takes no lock. Called by: the cache of encrypted queues.
create or replace function queen.encrypted_queues_v1()
returns table (r_tenant uuid, r_queue text)
language plpgsql stable
as $$
begin
  return query
    select q.tenant_id, q.name::text
    from queen.queues q
    where q.encryption_enabled;
end
$$;
