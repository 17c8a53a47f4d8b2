import { boolean, choice, decimal, integer, text } from './setting.js';

/**
 * Every environment variable the broker reads: unit, default, bounds. `docs/configuration.md` is made from this table.
 * A name stands here only when it acts.
 */
export const settings = {
  // HTTP
  PORT: integer({
    default: 6632,
    min: 0,
    max: 65535,
    about: 'Port the broker listens on; 0 takes a free one.',
  }),
  QUEEN_BIND_ADDR: text({ default: '0.0.0.0', about: 'Address the broker listens on.' }),
  QUEEN_WORKERS: integer({
    default: 1,
    min: 1,
    max: 64,
    about:
      'Broker processes on the port. More than one only where a core is the limit: pools, memory limits and the spool are of each.',
  }),
  QUEEN_MAX_BODY_BYTES: integer({
    default: 67_108_864,
    min: 1024,
    max: 536_870_912,
    unit: 'bytes',
    about: 'Largest request body, as sent and as inflated.',
  }),
  QUEEN_KEEP_ALIVE_TIMEOUT_MS: integer({
    default: 95_000,
    min: 1000,
    max: 3_600_000,
    unit: 'ms',
    about:
      'How long an idle connection is kept. Must exceed the idle time of clients and load balancers in front.',
  }),
  QUEEN_HEADERS_TIMEOUT_MS: integer({
    default: 15_000,
    min: 1000,
    max: 600_000,
    unit: 'ms',
    about: 'A client that has not sent its headers by then is cut off.',
  }),
  QUEEN_REQUEST_TIMEOUT_MS: integer({
    default: 120_000,
    min: 1000,
    max: 3_600_000,
    unit: 'ms',
    about: 'A client that has not sent its whole request by then is cut off. Long-polls are not affected.',
  }),
  QUEEN_SHUTDOWN_GRACE_MS: integer({
    default: 25_000,
    min: 1000,
    max: 600_000,
    unit: 'ms',
    about: 'How long a drain may take before the process ends anyway.',
  }),
  QUEEN_SHUTDOWN_LINGER_MS: integer({
    default: 500,
    min: 0,
    max: 60_000,
    unit: 'ms',
    about:
      'How long a drain still accepts connections: /health/ready says 503 and every answer ends its connection, so that a load balancer goes elsewhere.',
  }),

  // PostgreSQL
  DATABASE_URL: text({
    default: '',
    secret: true,
    pattern: /^(postgres(ql)?:\/\/.+)?$/,
    bounds: 'a postgres:// or postgresql:// address',
    about:
      'Address of PostgreSQL with user and password. Wins over the PG_ names. Neither given: the embedded server.',
  }),
  QUEEN_DIRECT_DATABASE_URL: text({
    default: '',
    secret: true,
    pattern: /^(postgres(ql)?:\/\/.+)?$/,
    bounds: 'a postgres:// or postgresql:// address',
    about:
      'Address of PostgreSQL itself, where the other one leads to a connection pooler: for the schema and for LISTEN.',
  }),
  PG_HOST: text({ default: '', about: 'Host of PostgreSQL.' }),
  PG_PORT: integer({ default: 5432, min: 1, max: 65535, about: 'Port of PostgreSQL.' }),
  PG_USER: text({ default: 'postgres', about: 'User.' }),
  PG_PASSWORD: text({ default: 'postgres', secret: true, about: 'Password.' }),
  PG_DATABASE: text({ default: 'postgres', aliases: ['PG_DB'], about: 'Database name.' }),
  PG_USE_SSL: boolean({ default: false, about: 'Speak TLS to PostgreSQL.' }),
  PG_SSL_REJECT_UNAUTHORIZED: boolean({
    default: true,
    about: 'Refuse certificates that cannot be verified.',
  }),
  DB_POOL_SIZE: integer({
    default: 48,
    min: 4,
    max: 1000,
    about: 'Connections in the pool. The limiter lanes are scaled to fit.',
  }),
  DB_POOL_WAIT_MS: integer({
    default: 5000,
    min: 50,
    max: 60_000,
    unit: 'ms',
    about: 'How long a request waits for a free connection before it answers "pool".',
  }),
  DB_POOL_WAITERS_MAX: integer({
    default: 2000,
    min: 1,
    max: 100_000,
    about: 'How many requests may wait for a connection; beyond, they are answered 503 at once.',
  }),
  QUEEN_POOL_RESERVE: integer({
    default: 12,
    min: 2,
    max: 500,
    aliases: ['QUEEN_ADMISSION_POOL_RESERVE'],
    about: 'Connections kept free of the limiter lanes, for probes and admin routes.',
  }),
  QUEEN_STMT_TIMEOUT_MS: integer({
    default: 30_000,
    min: 50,
    max: 100_000,
    unit: 'ms',
    about:
      'Longest statement; beyond, it is cancelled and its connection destroyed. Must stay well below 120 s (Z34).',
  }),
  QUEEN_PG_NAMED_STATEMENTS: boolean({
    default: true,
    about: 'Prepare statements by name. A pooler cannot keep them: behind one they are never used.',
  }),
  QUEEN_APPLY_SCHEMA: boolean({ default: true, about: 'Apply database/ at boot. Off: only check it.' }),
  QUEEN_DATA_DIR: text({
    default: './.queen-data',
    about: 'Directory of the embedded PostgreSQL (folder pg) and its address (file database.url).',
  }),

  // Pop
  DEFAULT_TIMEOUT: integer({
    default: 30_000,
    min: 0,
    max: 3_600_000,
    unit: 'ms',
    aliases: ['POP_DEFAULT_TIMEOUT_MS'],
    about: 'Long-poll deadline when the request names none.',
  }),
  POP_WAIT_INITIAL_INTERVAL_MS: integer({
    default: 100,
    min: 1,
    max: 60_000,
    unit: 'ms',
    about: 'First re-poll intervals of a parked pop.',
  }),
  POP_WAIT_BACKOFF_THRESHOLD: integer({
    default: 3,
    min: 0,
    max: 1000,
    about: 'Re-polls before the interval grows.',
  }),
  POP_WAIT_BACKOFF_MULTIPLIER: decimal({ default: 2, min: 1, max: 100, about: 'Growth of the interval.' }),
  POP_WAIT_MAX_INTERVAL_MS: integer({
    default: 1000,
    min: 1,
    max: 60_000,
    unit: 'ms',
    about: 'Longest re-poll interval: what a lost wake costs at most.',
  }),
  QUEEN_POP_PENDING_GATE: boolean({
    default: true,
    about: 'Ask the cheap pending probe before single-partition and discovery pops of a waiting request.',
  }),
  QUEEN_POP_FUSION: boolean({
    default: true,
    about: 'Let claims of pops that run at once share one statement and its commit; off: one each.',
  }),
  QUEEN_POP_FUSION_MAX_JOBS: integer({
    default: 64,
    min: 1,
    max: 1000,
    about: 'Most pops that share one claim.',
  }),
  QUEEN_POP_FUSION_CONCURRENCY: integer({
    default: 2,
    min: 1,
    max: 64,
    about: 'Shared claims at once; pops that come meanwhile gather for the next.',
  }),

  // Push
  QUEEN_V2_BUNDLE_MAX: integer({
    default: 64,
    min: 1,
    max: 1024,
    about: 'Partitions that concurrent pushes share one transaction for.',
  }),
  QUEEN_V2_FUSION_MAX_INFLIGHT: integer({
    default: 2,
    min: 1,
    max: 64,
    about: 'Push transactions at once; what arrives meanwhile goes into the next one together.',
  }),
  QUEEN_PUSH_BUFFER_BYTES: integer({
    default: 268_435_456,
    min: 1_048_576,
    max: 17_179_869_184,
    unit: 'bytes',
    about: 'Memory of pushes that have no answer yet; beyond, further ones are answered 503.',
  }),
  QUEEN_DEDUP_CACHE: boolean({
    default: true,
    about:
      'Remember the transactionIds of partitions that are pushed to, so that PostgreSQL need not look for each new one ' +
      'in the whole dedup window. Off: slower, with the same answers.',
  }),
  QUEEN_DEDUP_CACHE_MB: integer({
    default: 256,
    min: 1,
    max: 65_536,
    unit: 'MiB',
    about: 'Memory of that; about 20 bytes a message. Partitions without a place in it are looked through.',
  }),

  // Hot-list
  QUEEN_HOTLIST: boolean({
    default: true,
    about: 'Candidates from the in-memory ring; off: from the SQL scan.',
  }),
  QUEEN_HOTLIST_FACTOR: integer({
    default: 8,
    min: 1,
    max: 64,
    about: 'Candidates a pop takes from the ring, times its partitions parameter.',
  }),
  QUEEN_HOTLIST_CANDIDATES_MIN: integer({
    default: 16,
    min: 1,
    max: 1024,
    about: 'Fewest candidates a pop takes.',
  }),
  QUEEN_HOTLIST_CANDIDATES_MAX: integer({
    default: 256,
    min: 1,
    max: 4096,
    about: 'Most candidates a pop takes.',
  }),
  QUEEN_HOTLIST_WINDOW_BATCH: integer({
    default: 100,
    min: 1,
    max: 1_000_000,
    about: 'Messages after which a windowBuffer hold ends early.',
  }),
  QUEEN_HOTLIST_PAD_MS: integer({
    default: 300,
    min: 0,
    max: 60_000,
    unit: 'ms',
    about: 'Padding after a lease or hold before the partition is looked at again.',
  }),
  QUEEN_HOTLIST_REVISIT_CAP_MS: integer({
    default: 1000,
    min: 50,
    max: 60_000,
    unit: 'ms',
    about: 'Longest time a leased partition rests before it is looked at again.',
  }),
  QUEEN_HOTLIST_RESEED_MS: integer({
    default: 30_000,
    min: 100,
    max: 3_600_000,
    unit: 'ms',
    about: 'Period of the reseed of recently written partitions.',
  }),
  QUEEN_HOTLIST_RESEED_FULL_MS: integer({
    default: 300_000,
    min: 0,
    max: 86_400_000,
    unit: 'ms',
    about: 'Period of the full reseed; 0: every reseed is full.',
  }),
  QUEEN_HOTLIST_RESEED_WINDOW_MS: integer({
    default: 0,
    min: 0,
    max: 604_800_000,
    unit: 'ms',
    about: 'How far back the windowed reseed looks; 0: derived.',
  }),
  QUEEN_HOTLIST_IDLE_SWEEP_MS: integer({
    default: 300_000,
    min: 0,
    max: 86_400_000,
    unit: 'ms',
    about: 'Period after which untouched queues leave memory; 0: never.',
  }),
  QUEEN_HOTLIST_UNSERVED_TRIM_MS: integer({
    default: 30_000,
    min: 0,
    max: 86_400_000,
    unit: 'ms',
    about: 'A queue nobody pops here leaves memory after this time; 0: never.',
  }),

  // Limiter
  QUEEN_SEG_POP_INIT: integer({ default: 12, min: 1, max: 1000, about: 'Pop lane: permits at start.' }),
  QUEEN_SEG_POP_MIN: integer({ default: 8, min: 1, max: 1000, about: 'Pop lane: fewest permits.' }),
  QUEEN_SEG_POP_MAX: integer({ default: 16, min: 1, max: 1000, about: 'Pop lane: most permits.' }),
  QUEEN_SEG_PUSH_INIT: integer({ default: 8, min: 1, max: 1000, about: 'Push lane: permits at start.' }),
  QUEEN_SEG_PUSH_MIN: integer({ default: 8, min: 1, max: 1000, about: 'Push lane: fewest permits.' }),
  QUEEN_SEG_PUSH_MAX: integer({ default: 12, min: 1, max: 1000, about: 'Push lane: most permits.' }),
  QUEEN_SEG_ACK_INIT: integer({ default: 4, min: 1, max: 1000, about: 'Ack lane: permits at start.' }),
  QUEEN_SEG_ACK_MIN: integer({ default: 4, min: 1, max: 1000, about: 'Ack lane: fewest permits.' }),
  QUEEN_SEG_ACK_MAX: integer({ default: 6, min: 1, max: 1000, about: 'Ack lane: most permits.' }),
  QUEEN_VEGAS_ALPHA: decimal({
    default: 3,
    min: 0,
    max: 1000,
    about: 'Queue estimate below which a lane grows.',
  }),
  QUEEN_VEGAS_BETA: decimal({
    default: 6,
    min: 0,
    max: 1000,
    about: 'Queue estimate above which a lane shrinks.',
  }),
  QUEEN_LANE_WAITERS_MAX: integer({
    default: 5000,
    min: 1,
    max: 1_000_000,
    about: 'Requests that may wait for a permit of one lane; beyond, they are answered 503.',
  }),
  QUEEN_LANE_WAIT_MS: integer({
    default: 10_000,
    min: 10,
    max: 600_000,
    unit: 'ms',
    about: 'Longest wait for a permit.',
  }),

  // Ack
  QUEEN_ACK_REGISTRY: boolean({
    default: true,
    about:
      'Remember handed-out batches, so that acking a whole batch is one cursor move; off: every ack is resolved by transactionId.',
  }),
  QUEEN_ACK_REGISTRY_MB: integer({
    default: 32,
    min: 1,
    max: 4096,
    unit: 'MiB',
    about:
      'Memory for handed-out batches; beyond, the oldest are forgotten and their acks are resolved by transactionId.',
  }),
  QUEEN_ACK_FUSION: boolean({
    default: true,
    about:
      'Let acks that arrive together share one commit, whole batches and those that are looked up; off: one commit each.',
  }),

  // Several brokers
  QUEEN_HINT_BUS: choice({
    default: 'pg',
    choices: ['pg', 'off'],
    about:
      'How brokers on one database tell each other of new messages: pg over LISTEN/NOTIFY, off not at all (they are found by polling).',
  }),

  // Logs
  LOG_LEVEL: choice({
    default: 'info',
    choices: ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
    about: 'Least important log line written.',
  }),
  LOG_FORMAT: choice({
    default: 'auto',
    choices: ['auto', 'json', 'text'],
    about:
      'How lines are written: json, one object a line; text, for people; auto, text at a terminal and json elsewhere.',
  }),

  // Traces
  OTEL_EXPORTER_OTLP_ENDPOINT: text({
    default: '',
    pattern: /^https?:\/\/[^\s]+$/,
    bounds: 'an http:// or https:// address',
    about:
      'Where OpenTelemetry traces go, over OTLP/HTTP to /v1/traces below this address. Unset: there are none, and nothing is loaded or done for them.',
  }),
  OTEL_EXPORTER_OTLP_HEADERS: text({
    default: '',
    secret: true,
    pattern: /^[^\s=,]+=[^,]*(,[^\s=,]+=[^,]*)*$/,
    bounds: 'name=value, separated by commas, values percent-encoded',
    about: 'Headers sent with them, for a receiver that wants a key.',
  }),
  OTEL_SERVICE_NAME: text({ default: 'queen-nest', about: 'Name of this service in traces.' }),
  QUEEN_TRACE_RATIO: decimal({
    default: 1,
    min: 0,
    max: 1,
    about:
      'Share of the traces that begin at this broker and are recorded; a request that comes with a trace follows the decision of that.',
  }),

  // Transactions and consumer groups
  QUEEN_TRANSACTION_BUFFER_BYTES: integer({
    default: 134_217_728,
    min: 1_048_576,
    max: 17_179_869_184,
    unit: 'bytes',
    about: 'Memory of transactions that have no answer yet; beyond, further ones are answered 503.',
  }),
  QUEEN_CACHE_REFRESH_INTERVAL_MS: integer({
    default: 60_000,
    min: 100,
    max: 3_600_000,
    unit: 'ms',
    about:
      'Period in which a broker reads what others changed without a write: seeks and deletions of groups, maintenance.',
  }),

  // Stats
  STATS_INTERVAL_MS: integer({
    default: 10_000,
    min: 1000,
    max: 3_600_000,
    unit: 'ms',
    about:
      'Period in which one of the brokers counts what queues hold; every sixth time their bytes as well.',
  }),
  METRICS_FLUSH_MS: integer({
    default: 60_000,
    min: 1000,
    max: 3_600_000,
    unit: 'ms',
    about: 'Period in which each broker writes down what it did, for GET /api/v1/status.',
  }),

  // Retention
  RETENTION_INTERVAL: integer({
    default: 5000,
    min: 100,
    max: 86_400_000,
    unit: 'ms',
    about:
      'Pause between two sweeps that delete what the rules of queues no longer keep. One broker sweeps at a time.',
  }),
  RETENTION_BATCH_SIZE: integer({
    default: 1000,
    min: 1,
    max: 100_000,
    about: 'Most segments or other rows deleted in one transaction; fewer when that takes long.',
  }),
  PARTITION_CLEANUP_DAYS: integer({
    default: 30,
    min: 0,
    max: 36_500,
    unit: 'days',
    about: 'An empty partition that nobody has used for so long is removed; 0: never.',
  }),
  METRICS_RETENTION_DAYS: integer({
    default: 90,
    min: 0,
    max: 36_500,
    unit: 'days',
    about: 'How long the history of deletions is kept; 0: for ever.',
  }),

  // Spool
  QUEEN_SPOOL: boolean({
    default: true,
    about:
      'Write pushes to disk while PostgreSQL is away and store them later (status "buffered"); off: such pushes fail.',
  }),
  FILE_BUFFER_DIR: text({
    default: '',
    about:
      'Directory of the spool. Unset: /var/lib/queen/buffers, or buffers in QUEEN_DATA_DIR beside the embedded PostgreSQL and where the former cannot be written.',
  }),
  FILE_BUFFER_FLUSH_MS: integer({
    default: 100,
    min: 10,
    max: 60_000,
    unit: 'ms',
    about: 'Pause between two attempts to store what is in the spool.',
  }),
  FILE_BUFFER_MAX_BATCH: integer({
    default: 100,
    min: 1,
    max: 10_000,
    about: 'Messages of the spool that are stored together.',
  }),
  FILE_BUFFER_EVENTS_PER_FILE: integer({
    default: 10_000,
    min: 1,
    max: 1_000_000,
    about: 'Messages in one file of the spool; a file ends at 64 MiB in any case.',
  }),
  FILE_BUFFER_MAX_BYTES: integer({
    default: 10_737_418_240,
    min: 1_048_576,
    max: 1_099_511_627_776,
    unit: 'bytes',
    about: 'Disk space that the spool may take; beyond, pushes that would need it fail.',
  }),
  QUEEN_SPOOL_STRICT_ORDER: boolean({
    default: false,
    about:
      'Keep the order of each partition across an outage: while messages of it are in the spool, new ones go there too.',
  }),

  // Authentication
  JWT_ENABLED: boolean({
    default: false,
    about:
      'Ask every request for a token and look at its roles (docs/security.md); off: every request passes.',
  }),
  JWT_ALGORITHM: choice({
    default: 'HS256',
    choices: [
      ...(['HS256', 'HS384', 'HS512', 'RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const),
      ...(['ES256', 'ES384', 'ES512', 'EdDSA', 'auto'] as const),
    ],
    about: 'The only algorithm that tokens may be signed with; auto: every one that fits the keys given.',
  }),
  JWT_SECRET: text({
    default: '',
    secret: true,
    about: 'Shared secret of HS tokens; at least 32 random bytes.',
  }),
  JWT_PUBLIC_KEY: text({
    default: '',
    secret: true,
    bounds: 'a public key or a certificate in PEM',
    about: 'Public key of RS, PS, ES and EdDSA tokens; its line breaks may be spelled \\n.',
  }),
  JWT_JWKS_URL: text({
    default: '',
    pattern: /^(https?:\/\/[^\s@]+)?$/,
    bounds: 'an http:// or https:// address without a user',
    about: 'Where the issuer publishes its public keys; needed instead of JWT_PUBLIC_KEY when keys rotate.',
  }),
  JWT_JWKS_REFRESH_INTERVAL: integer({
    default: 3600,
    min: 1,
    max: 604_800,
    unit: 's',
    about: 'Period in which they are read again; a key that was withdrawn is believed as long.',
  }),
  JWT_JWKS_TIMEOUT_MS: integer({
    default: 5000,
    min: 50,
    max: 60_000,
    unit: 'ms',
    about: 'Longest wait for them.',
  }),
  JWT_ISSUER: text({ default: '', about: 'What the claim iss of a token must be; unset: anything.' }),
  JWT_AUDIENCE: text({
    default: '',
    about: 'What the claim aud of a token must be or hold; unset: anything.',
  }),
  JWT_CLOCK_SKEW: integer({
    default: 30,
    min: 0,
    max: 86_400,
    unit: 's',
    about: 'Difference of clocks that is forgiven in the times of a token.',
  }),
  JWT_SKIP_PATHS: text({
    default: '/health,/metrics/prometheus,/metrics,/',
    about:
      'Paths that need no token, comma-separated; one that ends in / stands for all below it. Leave the metrics out to close them. Probes never need one.',
  }),
  JWT_ROLES_CLAIM: text({ default: 'role', about: 'Claim that names one role.' }),
  JWT_ROLES_ARRAY_CLAIM: text({ default: 'roles', about: 'Claim that lists roles.' }),
  JWT_ROLE_ADMIN: text({ default: 'admin', about: 'Name of the role that may do everything.' }),
  JWT_ROLE_READ_WRITE: text({ default: 'read-write', about: 'Name of the role that may push and consume.' }),
  JWT_ROLE_READ_ONLY: text({
    default: 'read-only',
    about: 'Name of the role that may look, and take nothing.',
  }),
  JWT_ROLE_WRITE_ONLY: text({ default: 'write-only', about: 'Name of the role that may push only.' }),
  JWT_TENANT_CLAIM: text({
    default: '',
    about:
      'Claim with the tenant (a uuid) that a token is good for, together with QUEEN_TENANCY_HEADER; unset: a token is good for whichever tenant the header names.',
  }),

  // TLS
  QUEEN_TLS_CERT_FILE: text({
    default: '',
    about: 'File with the certificate and those up to its issuer, in PEM. Set: the broker speaks HTTPS only.',
  }),
  QUEEN_TLS_KEY_FILE: text({ default: '', about: 'File with the private key of it, in PEM.' }),
  QUEEN_TLS_CLIENT_CA_FILE: text({
    default: '',
    about:
      'File with certificates, in PEM, one of which must have issued the certificate of a client; unset: clients need none.',
  }),

  // Encryption and tenants
  QUEEN_ENCRYPTION_KEY: text({
    default: '',
    secret: true,
    pattern: /^[0-9a-fA-F]{64}$/,
    bounds: '64 hex digits',
    about:
      'Key (AES-256-GCM) for the payloads of queues with encryptionEnabled; every broker needs the same one. Unset: they are stored as they are.',
  }),
  QUEEN_TENANCY_HEADER: boolean({
    default: false,
    about:
      'Let the header x-queen-tenant (a uuid, set by a proxy in front that is trusted) say whose queues a request means; off: it is never read.',
  }),
} as const;
