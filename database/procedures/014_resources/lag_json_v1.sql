-- {"avg","median","min","max"} of some numbers; zeros for none.
-- Pure. Called by: get_system_overview_v3.
create or replace function queen.lag_json_v1(p_values numeric[])
returns jsonb
language plpgsql immutable
as $$
begin
  return (
    select jsonb_build_object(
      'avg', coalesce(round(avg(u.v), 3), 0),
      'median', coalesce(round((percentile_cont(0.5) within group (order by u.v))::numeric, 3), 0),
      'min', coalesce(min(u.v), 0), 'max', coalesce(max(u.v), 0))
    from unnest(p_values) u(v));
end
$$;
