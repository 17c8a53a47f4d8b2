-- One whole-number option out of a configure request: its value, or null when absent or JSON null.
-- Anything else that is not a JSON number without a fraction, inside int4 and at least p_min, is refused with
-- SQLSTATE QCONF and a message that names the option; text such as "10" is not guessed at.
-- Pure. Called by: configure_queue_v1.
create or replace function queen.queue_option_int_v1(p_options jsonb, p_name text, p_min int)
returns int
language plpgsql immutable
as $$
declare
  v_value jsonb := p_options -> p_name;
  v_number numeric;
begin
  if v_value is null or jsonb_typeof(v_value) = 'null' then
    return null;
  end if;
  if jsonb_typeof(v_value) = 'number' then
    v_number := v_value::numeric;
    if v_number = trunc(v_number) and v_number between p_min and 2147483647 then
      return v_number::int;
    end if;
  end if;
  raise exception using
    errcode = 'QCONF',
    message = format('QCONF: option "%s" must be a whole number between %s and 2147483647', p_name, p_min);
end
$$;
