-- Extends the live leases of one worker to now + p_seconds (less than 1 acts as 1, null as 60):
--   {"renewed":n,"expiresAt":earliest new expiry or null}
-- Promises: never shortens a lease, never revives one that has run out.
-- p_pids narrows the search to these partitions; null scans all cursors, since nothing is indexed by worker.
-- p_tenant narrows it to partitions of that tenant; null means no check.
-- Locks: cursor rows, waiting, in ascending (partition id, group). Updating in the order of a scan would deadlock
-- with an ack flush of the same worker (hazard Z23); so the rows are locked in one command and updated in the next,
-- which also judges "live" anew after any wait.
-- Called by: the lease route.
create or replace function queen.log_renew_lease_v1(
  p_worker text,
  p_seconds int,
  p_pids uuid[] default null,
  p_tenant uuid default null
)
returns jsonb
language plpgsql
as $$
declare
  v_pids uuid[];
  v_groups text[];
  v_now timestamptz;
  v_renewed int;
  v_earliest timestamptz;
begin
  -- Two texts instead of one condition: "p_pids is null or ..." would keep a prepared plan from using the key.
  if p_pids is not null then
    select array_agg(l.partition_id), array_agg(l.consumer_group) into v_pids, v_groups
    from (
      select c.partition_id, c.consumer_group
      from queen.log_consumers c
      where c.partition_id = any (p_pids) and c.worker_id = p_worker and c.lease_expires_at > clock_timestamp()
      order by c.partition_id, c.consumer_group
      for update
    ) l;
  else
    select array_agg(l.partition_id), array_agg(l.consumer_group) into v_pids, v_groups
    from (
      select c.partition_id, c.consumer_group
      from queen.log_consumers c
      where c.worker_id = p_worker and c.lease_expires_at > clock_timestamp()
      order by c.partition_id, c.consumer_group
      for update
    ) l;
  end if;

  v_now := clock_timestamp();
  with renewed as (
    update queen.log_consumers c
    set lease_expires_at = greatest(
      c.lease_expires_at, v_now + make_interval(secs => greatest(coalesce(p_seconds, 60), 1)))
    from unnest(v_pids, v_groups) u(partition_id, consumer_group)
    where c.partition_id = u.partition_id and c.consumer_group = u.consumer_group
      and c.worker_id = p_worker and c.lease_expires_at > v_now
      and (p_tenant is null or exists (
        select
        from queen.log_partitions p
        join queen.queues q on q.id = p.queue_id
        where p.id = c.partition_id and q.tenant_id = p_tenant))
    returning c.lease_expires_at
  )
  select count(*), min(r.lease_expires_at) into v_renewed, v_earliest from renewed r;

  return jsonb_build_object('renewed', v_renewed, 'expiresAt', queen.log_utc_iso(v_earliest));
end
$$;
