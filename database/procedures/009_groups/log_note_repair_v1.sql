-- Tells every broker that cursors of a group were moved or removed in a queue (p_partition null) or in one partition of
-- it, in the transaction that does it. Two partitions within the life of a notice become a notice about the queue: a
-- broker that has not read the first yet would otherwise miss it.
-- Notices live for an hour; the old ones leave here. Rows that another notice is just taking away are skipped, so two
-- notices never wait for each other over rubbish.
-- Locks: the notice of (queue, group), to the end of the transaction: moves of one group in one queue are served one
-- after the other. Taken after the queue row and before everything else; several queues in the order of their ids.
-- Called by: seek, group deletion, subscription update.
create or replace function queen.log_note_repair_v1(p_tenant uuid, p_queue text, p_group text, p_partition text)
returns void
language plpgsql
as $$
begin
  delete from queen.hotlist_repairs r
  using (
    select o.tenant_id, o.queue_name, o.consumer_group
    from queen.hotlist_repairs o
    where o.repaired_at < clock_timestamp() - interval '1 hour'
    order by o.repaired_at
    limit 1000
    for update skip locked
  ) old
  where r.tenant_id = old.tenant_id and r.queue_name = old.queue_name and r.consumer_group = old.consumer_group;

  insert into queen.hotlist_repairs as r (tenant_id, queue_name, consumer_group, partition_name, repaired_at)
  values (p_tenant, p_queue, p_group, p_partition, clock_timestamp())
  on conflict (tenant_id, queue_name, consumer_group) do update
  set repaired_at = excluded.repaired_at,
      partition_name = case when r.partition_name = excluded.partition_name then r.partition_name end;
end
$$;
