-- Options that act, pausing, and the counters that administration reads.

-- max_deliveries: a message whose lease was lost that often is put aside; 0: never.
-- pops_paused, pushes_paused: no option of the queue but a switch beside them; configure leaves both alone.
alter table queen.queues
  add column max_deliveries int not null default 0,
  add column pops_paused boolean not null default false,
  add column pushes_paused boolean not null default false;

-- The few queues whose pushes or pops every broker has to look at twice. Read once a second by each.
create index idx_queues_controlled on queen.queues (tenant_id, name)
  where pops_paused or pushes_paused or max_queue_size > 0;

--   hold_until     a refused batch rests until then (retryDelay); everything behind it in the partition waits too
--   lost_offset    first offset of the batch whose lease ran out last (maxDeliveries) ...
--   lost_end       ... and its last one: somewhere in here is the message that its workers do not survive
--   lost_count     how often a lease with this head ran out; -1: the head has used up its deliveries
--   total_expired  messages stepped over because they were older than the queue's ttl
-- Whoever moves a cursor backwards clears the first four. None is indexed, as nothing here is.
alter table queen.log_consumers
  add column hold_until timestamptz,
  add column lost_offset bigint,
  add column lost_end bigint,
  add column lost_count int not null default 0,
  add column total_expired bigint not null default 0;

-- What a queue holds, as last counted. The counting is a walk over its partitions in slices (queue_walks), so a row
-- is a mixture of the moments of one walk; a queue of up to some thousand partitions takes one slice.
--   messages    retained                       pending     of them not finished by the slowest group
--   processing  under live leases              expired     stepped over for their age, all groups together
--   pushed      offsets ever given out         consumed    messages ever finished, all groups together
-- counted_at is null until the first walk has ended, and so is weighed_at for segments and retained_bytes.
create table queen.queue_stats (
  queue_id          uuid primary key references queen.queues (id) on delete cascade,
  partitions        bigint not null default 0,
  messages          bigint not null default 0,
  pending           bigint not null default 0,
  processing        bigint not null default 0,
  leases            bigint not null default 0,
  leased_partitions bigint not null default 0,
  dead_letters      bigint not null default 0,
  dead_partitions   bigint not null default 0,
  expired           bigint not null default 0,
  pushed            bigint not null default 0,
  consumed          bigint not null default 0,
  oldest_pending_at timestamptz,
  counted_at        timestamptz,
  segments          bigint not null default 0,
  retained_bytes    bigint not null default 0,
  weighed_at        timestamptz
) with (fillfactor = 50);

-- Where the walks stand, and what they have added up so far. Lane count: partitions and cursors. Lane weigh: segments.
--   visited_at    whose turn it is: the queue not visited for longest
--   after_name    the last partition that is done; null between two walks
--   after_offset  lane weigh: the last segment that is done in the partition after that one
create table queen.queue_walks (
  queue_id          uuid not null references queen.queues (id) on delete cascade,
  lane              text not null,
  visited_at        timestamptz not null default 'epoch',
  is_walking        boolean not null default false,
  after_name        text,
  after_offset      bigint,
  partitions        bigint not null default 0,
  messages          bigint not null default 0,
  pending           bigint not null default 0,
  processing        bigint not null default 0,
  leases            bigint not null default 0,
  leased_partitions bigint not null default 0,
  dead_letters      bigint not null default 0,
  dead_partitions   bigint not null default 0,
  expired           bigint not null default 0,
  pushed            bigint not null default 0,
  consumed          bigint not null default 0,
  oldest_pending_at timestamptz,
  segments          bigint not null default 0,
  retained_bytes    bigint not null default 0,
  primary key (queue_id, lane)
) with (fillfactor = 50);

create index idx_queue_walks_turn on queen.queue_walks (lane, visited_at);

-- What each queue did in a minute; no row for a minute in which nothing was counted. No foreign key: rows of a queue
-- that is gone age out with the others.
create table queen.queue_minutes (
  minute   timestamptz not null,
  queue_id uuid not null,
  pushed   bigint not null default 0,
  consumed bigint not null default 0,
  primary key (minute, queue_id)
);

-- What each broker did in a minute.
create table queen.broker_minutes (
  minute          timestamptz not null,
  broker          text not null,
  push_requests   bigint not null default 0,
  push_messages   bigint not null default 0,
  pop_requests    bigint not null default 0,
  pop_messages    bigint not null default 0,
  ack_requests    bigint not null default 0,
  ack_messages    bigint not null default 0,
  ack_failures    bigint not null default 0,
  dead_letters    bigint not null default 0,
  database_errors bigint not null default 0,
  primary key (minute, broker)
);

-- Work that one broker at a time does: whoever moves taken_at forward has the turn. Nobody holds anything, so a broker
-- that dies in its turn costs the rest of it and nothing else.
create table queen.turns (
  name     text primary key,
  taken_at timestamptz not null default 'epoch'
);

insert into queen.turns (name) values ('queue stats'), ('queue weights');
