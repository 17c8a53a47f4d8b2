-- Whether a queue is meant by the filters of a status route; a null filter means any.
-- SQL and not plpgsql, so that it is inlined into its caller; it uses nothing of ours.
-- Pure. Called by: get_status_v3, get_status_queues_v2, get_analytics_v1.
create or replace function queen.queue_matches_v1(
  p_name text,
  p_namespace text,
  p_task text,
  p_want_name text,
  p_want_namespace text,
  p_want_task text
)
returns boolean
language sql immutable
as $$
  select (p_want_name is null or p_name = p_want_name)
    and (p_want_namespace is null or p_namespace = p_want_namespace)
    and (p_want_task is null or p_task = p_want_task)
$$;
