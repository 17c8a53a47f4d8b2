-- Pauses or resumes a queue for pops, for pushes, or both; null leaves that side as it is.
--   {"queue","paused":{"pops","pushes"}} as it now is, or {"error":"Queue not found"}
-- Locks: the queue row, as an update of non-key columns. Called by: the pause and resume routes.
create or replace function queen.set_queue_pause_v1(
  p_queue text,
  p_pops boolean,
  p_pushes boolean,
  p_tenant uuid default '00000000-0000-0000-0000-000000000001'
)
returns jsonb
language plpgsql
as $$
declare
  v_result jsonb;
begin
  update queen.queues q
  set pops_paused = coalesce(p_pops, q.pops_paused), pushes_paused = coalesce(p_pushes, q.pushes_paused)
  where q.tenant_id = p_tenant and q.name = p_queue
  returning jsonb_build_object(
    'queue', q.name, 'paused', jsonb_build_object('pops', q.pops_paused, 'pushes', q.pushes_paused))
  into v_result;
  return coalesce(v_result, '{"error":"Queue not found"}');
end
$$;
