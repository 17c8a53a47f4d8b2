-- One boolean option out of a configure request: its value, or null when absent or JSON null. Anything but a JSON
-- boolean is refused with SQLSTATE QCONF and a message that names the option.
-- Pure. Called by: configure_queue_v1.
create or replace function queen.queue_option_bool_v1(p_options jsonb, p_name text)
returns boolean
language plpgsql immutable
as $$
declare
  v_value jsonb := p_options -> p_name;
begin
  if v_value is null or jsonb_typeof(v_value) = 'null' then
    return null;
  end if;
  if jsonb_typeof(v_value) = 'boolean' then
    return v_value::boolean;
  end if;
  raise exception using
    errcode = 'QCONF',
    message = format('QCONF: option "%s" must be true or false', p_name);
end
$$;
