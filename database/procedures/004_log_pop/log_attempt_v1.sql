-- What r_attempt of a claimed batch says: how often it was handed out, this time included. 0 means that this is no
-- delivery: the message has used up its deliveries (max_deliveries) and is leased to be put aside, see
-- log_lost_lease_v1 and log_put_aside_v1. An auto-ack batch is always a first delivery.
-- SQL and not plpgsql, so that it is inlined into its caller; it uses nothing of ours.
-- Takes no lock. Called by: the pop procedures.
create or replace function queen.log_attempt_v1(
  p_auto_ack boolean,
  p_attempt_count int,
  p_attempt_offset bigint,
  p_lost_count int,
  p_lost_offset bigint
)
returns int
language sql immutable
as $$
  select case
    when p_auto_ack then 1
    when p_lost_count < 0 and p_lost_offset = p_attempt_offset then 0
    else p_attempt_count
  end
$$;
