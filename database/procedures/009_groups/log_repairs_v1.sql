-- The notices of the last hour, of all tenants. r_partition null: the whole queue.
-- Takes no lock. Called by: the reconcile loop of every broker.
create or replace function queen.log_repairs_v1()
returns table (r_tenant uuid, r_queue text, r_group text, r_partition text, r_repaired_at timestamptz)
language plpgsql stable
as $$
begin
  return query
    select r.tenant_id, r.queue_name, r.consumer_group, r.partition_name, r.repaired_at
    from queen.hotlist_repairs r
    where r.repaired_at >= clock_timestamp() - interval '1 hour'
    order by r.repaired_at;
end
$$;
