-- What is known of a group beyond its cursors: when it subscribed, and how far back a scan found nothing.

-- The durable subscription of a group to a queue, and the mark that its cursors were seeded in bulk: row and seed
-- commit together. queue_id is null only for a registration by namespace or task. The key treats nulls as equal, so
-- such a registration exists once as well.
create table queen.consumer_groups_metadata (
  id                     uuid primary key default gen_random_uuid(),
  tenant_id              uuid not null default '00000000-0000-0000-0000-000000000001',
  consumer_group         text not null,
  queue_id               uuid references queen.queues (id) on delete cascade,
  partition_name         text not null default '',
  namespace              text not null default '',
  task                   text not null default '',
  subscription_mode      text not null,
  subscription_timestamp timestamptz not null,
  created_at             timestamptz not null default now(),
  constraint cgm_identity_uk
    unique nulls not distinct (tenant_id, consumer_group, queue_id, partition_name, namespace, task)
);

create index idx_cgm_queue on queen.consumer_groups_metadata (queue_id);

-- Where a candidate scan may start: partitions not written since last_empty_scan_at (minus a slack) held nothing for
-- the group then. updated_at throttles the check that moves it. Whoever moves a cursor backwards deletes the row.
create table queen.consumer_watermarks (
  queue_id           uuid not null references queen.queues (id) on delete cascade,
  consumer_group     varchar(255) not null default '__QUEUE_MODE__',
  last_empty_scan_at timestamptz not null default 'epoch',
  updated_at         timestamptz not null default now(),
  primary key (queue_id, consumer_group)
);
