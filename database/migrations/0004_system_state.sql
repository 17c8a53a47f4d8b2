-- Switches shared by all brokers, such as maintenance_mode and pop_maintenance_mode: {"enabled": boolean}.
create table queen.system_state (
  key        text primary key,
  value      jsonb not null,
  updated_at timestamptz not null default now()
);
