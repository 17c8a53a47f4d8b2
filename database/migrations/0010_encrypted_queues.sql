-- The queues whose payloads are encrypted. Read once a second by every broker that has a key.
create index idx_queues_encrypted on queen.queues (tenant_id, name)
  where encryption_enabled;
