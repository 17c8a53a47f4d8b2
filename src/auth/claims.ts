import { BrokerError } from '../base/errors/broker-error.js';
import { textFlaw } from '../base/json/text-flaw.js';
import { parseUuid } from '../segment/uuid-v7.js';
import { grantsOf, type Role } from './access.js';
import type { ClaimRules } from './auth.options.js';
import type { Identity } from './identity.js';

/** As OpenID Connect has it. */
const SUBJECT_BYTES_MAX = 255;

export type Claims = Readonly<Record<string, unknown>>;

/**
 * What the claims of a token with a good signature amount to. Times that are absent are not checked (http-api 1.1).
 * @param nowMs milliseconds since the epoch
 * @throws BrokerError `invalid_token`, `token_expired`
 */
export function identityOf(claims: Claims, rules: ClaimRules, nowMs: number): Identity {
  const nowSeconds = nowMs / 1000;
  const skew = rules.clockSkewSeconds;
  const exp = time(claims, 'exp');
  if (exp !== null && nowSeconds >= exp + skew) throw new BrokerError('token_expired', 'Token has expired');
  const nbf = time(claims, 'nbf');
  if (nbf !== null && nowSeconds < nbf - skew) throw invalid('Token not yet valid');
  const iat = time(claims, 'iat');
  if (iat !== null && nowSeconds < iat - skew) throw invalid('Token issued in the future');
  if (rules.issuer !== '' && own(claims, 'iss') !== rules.issuer) throw invalid('Invalid token issuer');
  if (rules.audience !== '' && !listOf(own(claims, 'aud')).includes(rules.audience)) {
    throw invalid('Invalid token audience');
  }
  const roles = rolesOf(claims, rules);
  return {
    subject: subjectOf(claims),
    grants: grantsOf(roles),
    tenant: rules.tenantClaim === '' ? null : tenantOf(claims, rules.tenantClaim, roles),
    expiresAtMs: exp === null ? Infinity : (exp + skew) * 1000,
  };
}

/** Seconds since the epoch. A claim of another type is no time: to skip it would make a token that never expires. */
function time(claims: Claims, name: string): number | null {
  const value = own(claims, name);
  if (value === undefined || value === null) return null;
  if (typeof value !== 'number' || !Number.isFinite(value)) throw invalid(`Invalid token claim ${name}`);
  return value;
}

function rolesOf(claims: Claims, { roleClaim, rolesClaim, roles }: ClaimRules): Role[] {
  const many = own(claims, rolesClaim);
  const named = [own(claims, roleClaim), ...(Array.isArray(many) ? (many as unknown[]) : [])];
  return named.flatMap((name) => (typeof name === 'string' ? (roles.get(name) ?? []) : []));
}

function subjectOf(claims: Claims): Buffer | null {
  const sub = own(claims, 'sub');
  if (sub === undefined || sub === null || sub === '') return null;
  // It is stored with each message, and of dead letters PostgreSQL keeps it as text.
  if (typeof sub !== 'string' || textFlaw(sub)) throw invalid('Invalid token claim sub');
  const subject = Buffer.from(sub);
  if (subject.length > SUBJECT_BYTES_MAX) throw invalid('Invalid token claim sub');
  return subject;
}

/** A token that names no tenant speaks for all of them, which only an administrator's may. */
function tenantOf(claims: Claims, name: string, roles: readonly Role[]): string | null {
  const value = own(claims, name);
  if (value === undefined && roles.includes('admin')) return null;
  if (typeof value !== 'string' || !parseUuid(value)) throw invalid('Invalid token tenant');
  return value.toLowerCase();
}

function own(claims: Claims, name: string): unknown {
  return Object.hasOwn(claims, name) ? claims[name] : undefined;
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [value];
}

function invalid(text: string): BrokerError {
  return new BrokerError('invalid_token', text);
}
