/**
 * Every code a client can see, with its status and the sentence that says what to do.
 * `docs/errors.md` is compared with this table by test/tidy/error-codes.spec.ts.
 */
export const errorTable = {
  bad_body: {
    status: 400,
    meaning: 'The request body cannot be used; the error names what is wrong. Correct it and send it again.',
  },
  json_too_deep: { status: 400, meaning: 'The JSON nests deeper than 512 levels. Flatten the document.' },
  bad_parameter: {
    status: 400,
    meaning: 'A query parameter is outside its rule; the error names it. Correct it and send it again.',
  },
  bad_name: {
    status: 400,
    meaning: 'A queue, partition or group name breaks a naming rule; the error names the rule.',
  },
  bad_path: {
    status: 400,
    meaning: 'The path holds a broken percent escape. Encode every name with encodeURIComponent.',
  },
  no_filter: { status: 400, meaning: 'A discovery pop needs a namespace or a task. Name at least one.' },
  queue_required: { status: 400, meaning: 'The body has no queue. Name the queue as a JSON string.' },
  bad_option: {
    status: 400,
    meaning: 'A queue option is unknown, has the wrong type or is out of range; the error names it.',
  },
  bad_transaction: {
    status: 400,
    meaning:
      'The transaction cannot be carried out; the error names the operation. Nothing was done. Correct it and send it again.',
  },
  bad_timestamp: {
    status: 400,
    meaning: 'A point in time cannot be read. Send ISO 8601 with a date; without a zone it is UTC.',
  },
  bad_tenant: {
    status: 400,
    meaning: 'The x-queen-tenant header is not a uuid. Correct it, or leave it out for the default tenant.',
  },
  authentication_required: {
    status: 401,
    meaning: 'The request has no token. Send one as "Authorization: Bearer <token>".',
  },
  invalid_token: {
    status: 401,
    meaning: 'The token is not believed; the error says why. Get another one from whoever issues them.',
  },
  token_expired: { status: 401, meaning: 'The token has expired. Get a new one and send the request again.' },
  insufficient_permissions: {
    status: 403,
    meaning:
      'The token is good, and its roles (or its tenant) do not allow this. See docs/security.md for what each role may do.',
  },
  not_found: { status: 404, meaning: 'What the request names does not exist; the error says what.' },
  filter_required: {
    status: 400,
    meaning:
      'This call would touch every dead letter. Name at least one filter, or say all=true when that is meant.',
  },
  message_not_found: {
    status: 404,
    meaning:
      'Nothing is known under this partitionId and transactionId. Check both; it may have been removed.',
  },
  dead_letter_not_found: {
    status: 404,
    meaning: 'There is no such dead letter. It was replayed or deleted before, or never existed.',
  },
  dead_letter_empty: {
    status: 409,
    meaning:
      'The dead letter has no payload (its segment was gone or damaged when it was put aside), so it cannot be replayed. Delete it.',
  },
  replay_duplicate: {
    status: 409,
    meaning:
      'The target partition already holds a message whose transactionId is the one of this replay, dlq:<id>. The dead letter was kept.',
  },
  no_such_route: { status: 404, meaning: 'No such path. See the route list in README.md.' },
  method_not_allowed: {
    status: 405,
    meaning: 'The path exists, the method does not; the Allow header lists those that do.',
  },
  request_timeout: {
    status: 408,
    meaning: 'The request did not arrive in time. Send it again on a faster connection.',
  },
  body_too_large: {
    status: 413,
    meaning:
      'The body is larger than QUEEN_MAX_BODY_BYTES, compressed or inflated. Send fewer items a request.',
  },
  unsupported_encoding: {
    status: 415,
    meaning: 'Only identity and gzip bodies are read. Send one of these.',
  },
  headers_too_large: {
    status: 431,
    meaning: 'The request headers are too large. Send fewer or shorter ones.',
  },
  overloaded: {
    status: 503,
    meaning:
      'Too much is waiting for the same resource. Wait the seconds in Retry-After, then send it again.',
  },
  queue_paused: {
    status: 429,
    meaning:
      'The queue takes no pushes until it is resumed; nothing was stored. Send the request again later.',
  },
  too_many_messages: {
    status: 429,
    meaning:
      'The queue would hold more than its maxSize; nothing of the request was stored. Send it again when consumers have caught up.',
  },
  starting: {
    status: 503,
    meaning:
      'This broker is starting and has not prepared its database yet. Wait the seconds in Retry-After, then send it again.',
  },
  database_unavailable: {
    status: 503,
    meaning:
      'PostgreSQL cannot take writes now (away, restarting or read-only). Wait the seconds in Retry-After, then send it again.',
  },
  keys_unavailable: {
    status: 503,
    meaning:
      'The keys that tokens are signed with could not be read from JWT_JWKS_URL yet. Wait the seconds in Retry-After, then send it again.',
  },
  push_maintenance: {
    status: 503,
    meaning:
      'Push maintenance is on, so nothing can be replayed now. Switch it off, or wait and send it again.',
  },
  spool_failed: {
    status: 500,
    meaning:
      'Push maintenance is on and the message could not be written to the spool (disk full, FILE_BUFFER_MAX_BYTES reached, or QUEEN_SPOOL off). It was not accepted: send it again later.',
  },
  pool: {
    status: 500,
    meaning:
      'No database connection came free in time. Try again; if it persists raise DB_POOL_SIZE or add a broker.',
  },
  statement_timeout: {
    status: 500,
    meaning:
      'A statement ran longer than QUEEN_STMT_TIMEOUT_MS and was cancelled; nothing of it was kept. Try again.',
  },
  sql_failed: {
    status: 500,
    meaning:
      'PostgreSQL refused a statement; the broker log has the SQLSTATE. Try again; report it if it persists.',
  },
  segment_damaged: {
    status: 500,
    meaning:
      'A stored segment fails its checksum; the log names it. Other partitions are served; restore it or step over it with a seek.',
  },
  offset_too_large: {
    status: 500,
    meaning:
      'An offset is beyond 9007199254740991, the largest this broker counts exactly. Move to a new partition.',
  },
  internal: {
    status: 500,
    meaning: 'Something unexpected happened; the broker log has the request id. Report it.',
  },
} as const satisfies Record<string, { status: number; meaning: string }>;

export type ErrorCode = keyof typeof errorTable;
