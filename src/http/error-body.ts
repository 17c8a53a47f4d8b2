import { BrokerError } from '../base/errors/broker-error.js';
import { errorTable, type ErrorCode } from '../base/errors/error-table.js';

export interface ErrorAnswer {
  status: number;
  headers: Record<string, string>;
  body: Record<string, unknown>;
}

export function answerFor(error: BrokerError): ErrorAnswer {
  const headers: Record<string, string> = {};
  const challenge = challengeFor(error);
  if (challenge !== null) headers['www-authenticate'] = challenge;
  if (error.retryAfterSeconds !== undefined) headers['retry-after'] = String(error.retryAfterSeconds);
  return { status: error.status, headers, body: { error: error.message, code: error.code, ...error.extra } };
}

/** How a client is to authenticate, and why that failed (RFC 6750, 3). Texts of ours only, so nothing needs escaping. */
function challengeFor({ code, status, message }: BrokerError): string | null {
  const realm = 'Bearer realm="queen-nest"';
  if (code === 'authentication_required') return realm;
  if (status === 401) return `${realm}, error="invalid_token", error_description="${message}"`;
  return status === 403 ? `${realm}, error="insufficient_scope"` : null;
}

/** What the HTTP layer below us throws, as codes of ours. */
const FRAMEWORK_CODES: Record<string, ErrorCode> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'bad_body',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'bad_body',
  FST_ERR_CTP_EMPTY_TYPE: 'bad_body',
  FST_ERR_BAD_URL: 'bad_path',
  FST_ERR_MAX_PARAM_LENGTH: 'bad_name',
  FST_ERR_PARAM_LENGTH: 'bad_name',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
  HPE_HEADER_OVERFLOW: 'headers_too_large',
};

export function frameworkError(error: unknown): BrokerError | null {
  const { code, statusCode } = error as { code?: string; statusCode?: number };
  const known = code === undefined ? undefined : FRAMEWORK_CODES[code];
  if (known) return new BrokerError(known, errorTable[known].meaning);
  if (statusCode === 413) return new BrokerError('body_too_large');
  if (statusCode === 400) return new BrokerError('bad_body', 'bad body: the request could not be read');
  return null;
}
