-- Adds what a broker did since it last said so to the minute that is now.
-- Locks: the minute's row of this broker. Called by: the broker's metrics flush.
create or replace function queen.stats_note_broker_v1(
  p_broker text,
  p_push_requests bigint,
  p_push_messages bigint,
  p_pop_requests bigint,
  p_pop_messages bigint,
  p_ack_requests bigint,
  p_ack_messages bigint,
  p_ack_failures bigint,
  p_dead_letters bigint,
  p_database_errors bigint
)
returns void
language plpgsql
as $$
begin
  insert into queen.broker_minutes as m (
    minute, broker, push_requests, push_messages, pop_requests, pop_messages, ack_requests, ack_messages,
    ack_failures, dead_letters, database_errors)
  values (
    date_trunc('minute', clock_timestamp()), p_broker, p_push_requests, p_push_messages, p_pop_requests,
    p_pop_messages, p_ack_requests, p_ack_messages, p_ack_failures, p_dead_letters, p_database_errors)
  on conflict (minute, broker) do update
  set push_requests = m.push_requests + excluded.push_requests,
      push_messages = m.push_messages + excluded.push_messages,
      pop_requests = m.pop_requests + excluded.pop_requests,
      pop_messages = m.pop_messages + excluded.pop_messages,
      ack_requests = m.ack_requests + excluded.ack_requests,
      ack_messages = m.ack_messages + excluded.ack_messages,
      ack_failures = m.ack_failures + excluded.ack_failures,
      dead_letters = m.dead_letters + excluded.dead_letters,
      database_errors = m.database_errors + excluded.database_errors;
end
$$;
