import type { Environment } from '../base/config/environment.js';
import type { Role } from './access.js';

/** What a token must be to be believed; read from the environment once. */
export interface AuthOptions {
  /** Algorithms that a token may name. */
  readonly algorithms: ReadonlySet<string>;
  /** Of HS tokens; empty: none are believed. */
  readonly secret: string;
  /** PEM; empty: none. */
  readonly publicKey: string;
  /** Empty: none. */
  readonly jwksUrl: string;
  readonly jwksRefreshMs: number;
  readonly jwksTimeoutMs: number;
  readonly skipPaths: readonly string[];
  readonly claims: ClaimRules;
}

export interface ClaimRules {
  /** Empty: any. */
  readonly issuer: string;
  /** Empty: any. */
  readonly audience: string;
  readonly clockSkewSeconds: number;
  readonly roleClaim: string;
  readonly rolesClaim: string;
  /** By the name that tokens use. */
  readonly roles: ReadonlyMap<string, Role>;
  /** Empty: a token says nothing about the tenant. */
  readonly tenantClaim: string;
}

export const HMAC = ['HS256', 'HS384', 'HS512'];
/** With a public key of the fitting kind. */
export const ASYMMETRIC = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA'],
];

export function authOptions(environment: Environment): AuthOptions {
  const {
    JWT_ALGORITHM: algorithm,
    JWT_SECRET: secret,
    JWT_PUBLIC_KEY: publicKey,
    JWT_JWKS_URL: jwksUrl,
  } = environment;
  const fitting = [...(secret ? HMAC : []), ...(publicKey || jwksUrl ? ASYMMETRIC : [])];
  return {
    algorithms: new Set(fitting.filter((one) => algorithm === 'auto' || algorithm === one)),
    secret,
    publicKey,
    jwksUrl,
    jwksRefreshMs: environment.JWT_JWKS_REFRESH_INTERVAL * 1000,
    jwksTimeoutMs: environment.JWT_JWKS_TIMEOUT_MS,
    skipPaths: environment.JWT_SKIP_PATHS.split(',')
      .map((path) => path.trim())
      .filter((path) => path !== ''),
    claims: {
      issuer: environment.JWT_ISSUER,
      audience: environment.JWT_AUDIENCE,
      clockSkewSeconds: environment.JWT_CLOCK_SKEW,
      roleClaim: environment.JWT_ROLES_CLAIM,
      rolesClaim: environment.JWT_ROLES_ARRAY_CLAIM,
      roles: new Map<string, Role>([
        [environment.JWT_ROLE_WRITE_ONLY, 'write-only'],
        [environment.JWT_ROLE_READ_ONLY, 'read-only'],
        [environment.JWT_ROLE_READ_WRITE, 'read-write'],
        [environment.JWT_ROLE_ADMIN, 'admin'],
      ]),
      tenantClaim: environment.QUEEN_TENANCY_HEADER ? environment.JWT_TENANT_CLAIM : '',
    },
  };
}
