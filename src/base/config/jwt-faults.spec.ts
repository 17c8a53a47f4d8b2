import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { keyPair } from '../../../test/support/tokens.js';
import { ConfigurationError, parseEnvironment, unknownSettings } from './environment.js';

const rsa = keyPair('rsa');
const edwards = keyPair('ed25519');
const small = generateKeyPairSync('rsa', { modulusLength: 1024 })
  .publicKey.export({ type: 'spki', format: 'pem' })
  .toString();
const secretPem = rsa.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

function faults(variables: Record<string, string>): readonly string[] {
  try {
    parseEnvironment({ JWT_ENABLED: 'true', ...variables });
    return [];
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return error.faults;
  }
}

describe('a broker that asks for tokens', () => {
  it.each<[Record<string, string>]>([
    [{ JWT_SECRET: 's' }],
    [{ JWT_SECRET: 's', JWT_ALGORITHM: 'hs512' }],
    [{ JWT_PUBLIC_KEY: rsa.pem, JWT_ALGORITHM: 'PS384' }],
    [{ JWT_PUBLIC_KEY: rsa.pem.replaceAll('\n', '\\n'), JWT_ALGORITHM: 'RS256' }],
    [{ JWT_PUBLIC_KEY: edwards.pem, JWT_ALGORITHM: 'EdDSA' }],
    [{ JWT_JWKS_URL: 'https://issuer.example/keys', JWT_ALGORITHM: 'ES256' }],
    [{ JWT_SECRET: 's', JWT_ALGORITHM: 'auto' }],
    [{ JWT_ENABLED: 'false', JWT_ALGORITHM: 'RS256' }],
  ])('starts with %j', (variables) => {
    expect(faults(variables)).toEqual([]);
  });

  it.each<[Record<string, string>, string]>([
    [{}, 'JWT_ENABLED with JWT_ALGORITHM HS256 needs JWT_SECRET'],
    [{ JWT_PUBLIC_KEY: rsa.pem }, 'JWT_ENABLED with JWT_ALGORITHM HS256 needs JWT_SECRET'],
    [
      { JWT_ALGORITHM: 'RS256', JWT_SECRET: 's' },
      'JWT_ENABLED with JWT_ALGORITHM RS256 needs JWT_PUBLIC_KEY or JWT_JWKS_URL',
    ],
    [{ JWT_ALGORITHM: 'auto' }, 'JWT_ENABLED needs JWT_SECRET, JWT_PUBLIC_KEY or JWT_JWKS_URL'],
    [
      { JWT_ALGORITHM: 'RS256', JWT_PUBLIC_KEY: edwards.pem },
      'JWT_PUBLIC_KEY serves EdDSA, not JWT_ALGORITHM RS256',
    ],
    [
      { JWT_ALGORITHM: 'RS256', JWT_PUBLIC_KEY: 'xyz' },
      'JWT_PUBLIC_KEY must be a public key or a certificate in PEM',
    ],
    [
      { JWT_ALGORITHM: 'RS256', JWT_PUBLIC_KEY: small },
      'JWT_PUBLIC_KEY must be RSA of at least 2048 bits, P-256, P-384, P-521 or Ed25519',
    ],
    [
      { JWT_ALGORITHM: 'RS256', JWT_PUBLIC_KEY: secretPem },
      'JWT_PUBLIC_KEY holds a private key; the broker needs the public one, and nobody else the private one',
    ],
    [
      { JWT_SECRET: 's', JWT_ROLE_ADMIN: 'boss', JWT_ROLE_READ_ONLY: 'boss' },
      'JWT_ROLE_ADMIN, JWT_ROLE_READ_WRITE, JWT_ROLE_READ_ONLY, JWT_ROLE_WRITE_ONLY must be four different names',
    ],
    [
      { JWT_SECRET: 's', JWT_TENANT_CLAIM: 'org' },
      'JWT_TENANT_CLAIM acts only with QUEEN_TENANCY_HEADER=true',
    ],
    [
      { JWT_SECRET: 's', JWT_JWKS_URL: 'https://me:pass@issuer' },
      'JWT_JWKS_URL must be an http:// or https:// address without a user, not "https://me:pass@issuer"',
    ],
  ])('does not start with %j', (variables, fault) => {
    expect(faults(variables)).toEqual([fault]);
  });

  it('tells every fault at once, and nothing of a key', () => {
    const all = faults({
      JWT_ALGORITHM: 'RS256',
      JWT_PUBLIC_KEY: secretPem,
      JWT_CLOCK_SKEW: '-1',
      PORT: 'x',
    });
    expect(all).toHaveLength(3);
    expect(all.join()).not.toContain(secretPem.slice(40, 80));
  });
});

it('a name that is nearly one of these is warned about: it would leave the broker open', () => {
  expect(unknownSettings({ JWT_ENABLE: 'true', QUEEN_TLS_CERT: 'x', JWT_SECRET: 's' })).toEqual([
    'JWT_ENABLE is not a setting of this broker and has no effect; did you mean JWT_ENABLED?',
    'QUEEN_TLS_CERT is not a setting of this broker and has no effect; did you mean QUEEN_TLS_CERT_FILE?',
  ]);
});
