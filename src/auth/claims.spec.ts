import { describe, expect, it } from '@jest/globals';
import { BrokerError } from '../base/errors/broker-error.js';
import type { Role } from './access.js';
import type { ClaimRules } from './auth.options.js';
import { identityOf } from './claims.js';

const NOW_MS = 1_700_000_000_000;
const NOW = NOW_MS / 1000;
const TENANT = 'AAAAAAAA-0000-4000-8000-00000000000a';

const rules: ClaimRules = {
  issuer: '',
  audience: '',
  clockSkewSeconds: 30,
  roleClaim: 'role',
  rolesClaim: 'roles',
  roles: new Map<string, Role>([
    ['admin', 'admin'],
    ['rw', 'read-write'],
    ['r', 'read-only'],
    ['w', 'write-only'],
  ]),
  tenantClaim: '',
};

function outcome(claims: Record<string, unknown>, more: Partial<ClaimRules> = {}): string {
  try {
    const { grants, subject } = identityOf(claims, { ...rules, ...more }, NOW_MS);
    return [...grants].sort().join(' ') + (subject ? ` as ${subject.toString()}` : '');
  } catch (error) {
    if (!(error instanceof BrokerError)) throw error;
    return `${error.code}: ${error.message}`;
  }
}

const EVERYTHING = 'admin public read-only read-write write-only';

it.each<[string, Record<string, unknown>, string]>([
  ['no role', {}, 'public'],
  ['a role', { role: 'r' }, 'public read-only'],
  ['the halves', { roles: ['r', 'w'] }, 'public read-only write-only'],
  ['both at once', { role: 'rw' }, 'public read-only read-write write-only'],
  ['administration', { role: 'r', roles: ['x', 'admin'] }, EVERYTHING],
  ['roles of other types', { role: ['admin'], roles: 'admin' }, 'public'],
  ['roles of other types in the list', { roles: [['admin'], null, 1, { admin: true }] }, 'public'],
  ['roles by the names of the specification, which are others here', { role: 'read-write' }, 'public'],
  ['a name that every object has', { role: 'constructor', roles: ['__proto__', 'toString'] }, 'public'],
])('%s: what it grants', (_, claims, expected) => {
  expect(outcome(claims)).toBe(expected);
});

describe('times, with a skew of 30 s', () => {
  it.each<[Record<string, unknown>, string]>([
    [{ exp: NOW + 1 }, 'public'],
    [{ exp: NOW - 29.9 }, 'public'],
    [{ exp: NOW - 30 }, 'token_expired: Token has expired'],
    [{ exp: 0 }, 'token_expired: Token has expired'],
    [{ exp: -1 }, 'token_expired: Token has expired'],
    [{ nbf: NOW + 30 }, 'public'],
    [{ nbf: NOW + 31 }, 'invalid_token: Token not yet valid'],
    [{ iat: NOW + 30 }, 'public'],
    [{ iat: NOW + 31 }, 'invalid_token: Token issued in the future'],
    [{ exp: null, nbf: null, iat: null }, 'public'],
    [{ exp: String(NOW + 9) }, 'invalid_token: Invalid token claim exp'],
    [{ exp: true }, 'invalid_token: Invalid token claim exp'],
    [{ nbf: [NOW] }, 'invalid_token: Invalid token claim nbf'],
    [{ iat: {} }, 'invalid_token: Invalid token claim iat'],
  ])('%j', (claims, expected) => {
    expect(outcome(claims)).toBe(expected);
  });

  it('end what is remembered when the token does', () => {
    expect(identityOf({ exp: NOW + 10 }, rules, NOW_MS).expiresAtMs).toBe(NOW_MS + 40_000);
    expect(identityOf({}, rules, NOW_MS).expiresAtMs).toBe(Infinity);
  });
});

describe('issuer and audience', () => {
  const wanted = { issuer: 'me', audience: 'queen' };
  it.each<[Record<string, unknown>, string]>([
    [{ iss: 'me', aud: 'queen' }, 'public'],
    [{ iss: 'me', aud: ['other', 'queen'] }, 'public'],
    [{ iss: 'me', aud: 'queens' }, 'invalid_token: Invalid token audience'],
    [{ iss: 'me', aud: [['queen']] }, 'invalid_token: Invalid token audience'],
    [{ iss: 'me' }, 'invalid_token: Invalid token audience'],
    [{ iss: ['me'], aud: 'queen' }, 'invalid_token: Invalid token issuer'],
    [{ aud: 'queen' }, 'invalid_token: Invalid token issuer'],
  ])('%j', (claims, expected) => {
    expect(outcome(claims, wanted)).toBe(expected);
  });

  it('are not looked at when none is wanted', () => {
    expect(outcome({ iss: 5, aud: {} })).toBe('public');
  });
});

describe('the subject', () => {
  it.each<[unknown, string]>([
    ['zoë', 'public as zoë'],
    ['', 'public'],
    [null, 'public'],
    [undefined, 'public'],
    ['a'.repeat(255), `public as ${'a'.repeat(255)}`],
    ['a'.repeat(256), 'invalid_token: Invalid token claim sub'],
    ['a\0b', 'invalid_token: Invalid token claim sub'],
    ['\ud800', 'invalid_token: Invalid token claim sub'],
    [7, 'invalid_token: Invalid token claim sub'],
  ])('%j', (sub, expected) => {
    expect(outcome({ sub })).toBe(expected);
  });
});

describe('the tenant', () => {
  const bound = { ...rules, tenantClaim: 'org' };
  const tenantOf = (claims: Record<string, unknown>) => identityOf(claims, bound, NOW_MS).tenant;

  it('is the one of the claim, in the spelling of the database', () => {
    expect(tenantOf({ org: TENANT })).toBe(TENANT.toLowerCase());
    expect(tenantOf({ org: TENANT, role: 'admin' })).toBe(TENANT.toLowerCase());
  });

  it('is any for an administrator without one', () => {
    expect(tenantOf({ role: 'admin' })).toBeNull();
  });

  it.each([{}, { role: 'rw' }, { org: 'x' }, { org: 'x', role: 'admin' }, { org: null, role: 'admin' }])(
    'must be there for everybody else: %j',
    (claims) => {
      expect(() => tenantOf(claims)).toThrow('Invalid token tenant');
    },
  );

  it('is not looked at without a name for the claim', () => {
    expect(identityOf({ org: 'x' }, rules, NOW_MS).tenant).toBeNull();
  });
});
