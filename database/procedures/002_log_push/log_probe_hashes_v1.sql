-- Which of some hashes a partition already holds: [{"i":k,"off":O},...] as in a duplicate verdict, k the index of the
-- hash, O its lowest offset, ordered by k; null when it holds none.
--   p_start  base of the first hash row to look at
--   p_after  rows that end at or below this offset are passed over
--   p_hashes 16 bytes each
-- Plans are generic on purpose. Left to itself the planner takes the range for a reason to plan anew on every call:
-- measured, half a millisecond of planning for 20 µs of work, in every push of an id that its client gave.
-- A single hash is looked for in each row as it stands, which spares cutting the rows up: 1 million hashes in rows of
-- 1000 cost 30 ms instead of 215. A place between two hashes may match as well; the exact join decides.
-- Takes no lock. Called by: log_push_one_v1, under the partition's row lock.
create or replace function queen.log_probe_hashes_v1(
  p_partition_id uuid,
  p_start bigint,
  p_after bigint,
  p_hashes bytea
)
returns jsonb
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
declare
  v_only bytea := case when octet_length(p_hashes) = 16 then p_hashes end;
  v_found jsonb;
begin
  select jsonb_agg(jsonb_build_object('i', d.i, 'off', d.off) order by d.i) into v_found
  from (
    select i.idx as i, min(t.base_offset + k.idx) as off
    from queen.log_txns t
    cross join lateral queen.log_unnest_hashes(t.hashes) k
    join queen.log_unnest_hashes(p_hashes) i on i.h = k.h
    where t.partition_id = p_partition_id and t.base_offset >= p_start and t.end_offset > p_after
      and (v_only is null or position(v_only in t.hashes) > 0)
    group by i.idx
  ) d;
  return v_found;
end
$$;
