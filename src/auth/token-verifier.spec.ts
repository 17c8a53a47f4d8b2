import { createHmac, type KeyObject } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { forge, keyPair, SECRET, sign, type KeyPair } from '../../test/support/tokens.js';
import { SystemClock } from '../base/clock/clock.js';
import { parseEnvironment } from '../base/config/environment.js';
import { BrokerError } from '../base/errors/broker-error.js';
import { authOptions } from './auth.options.js';
import { AuthService } from './auth.service.js';

const ON = { JWT_ENABLED: 'true', JWT_ALGORITHM: 'auto' };

function verifierWith(variables: Record<string, string>) {
  const auth = new AuthService(authOptions(parseEnvironment({ ...ON, ...variables })), new SystemClock());
  return async (token: string): Promise<string> => {
    try {
      const { subject } = await auth.verify(token);
      return `good${subject ? `: ${subject.toString()}` : ''}`;
    } catch (error) {
      if (!(error instanceof BrokerError)) throw error;
      return error.message;
    }
  };
}

const keys: Record<string, KeyPair> = {
  rsa: keyPair('rsa'),
  'P-256': keyPair('P-256'),
  'P-384': keyPair('P-384'),
  'P-521': keyPair('P-521'),
  ed25519: keyPair('ed25519'),
};
const rsa = keys.rsa;

const ALGORITHMS: [alg: string, kind: string | null][] = [
  ...(['HS256', 'HS384', 'HS512'] as const).map((alg): [string, null] => [alg, null]),
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'].map((alg): [string, string] => [alg, 'rsa']),
  ['ES256', 'P-256'],
  ['ES384', 'P-384'],
  ['ES512', 'P-521'],
  ['EdDSA', 'ed25519'],
];

describe.each(ALGORITHMS)('%s', (alg, kind) => {
  const settings: Record<string, string> =
    kind === null ? { JWT_SECRET: SECRET } : { JWT_PUBLIC_KEY: keys[kind].pem };
  const key: KeyObject | Buffer = kind === null ? Buffer.from(SECRET) : keys[kind].privateKey;

  it('is believed by itself and with auto', async () => {
    const token = await sign({ alg, key, claims: { sub: 'me' } });
    expect(await verifierWith({ ...settings, JWT_ALGORITHM: alg })(token)).toBe('good: me');
    expect(await verifierWith(settings)(token)).toBe('good: me');
  });

  it('is refused when it was changed, or signed by somebody else', async () => {
    const verify = verifierWith(settings);
    const [header, , signature] = (await sign({ alg, key })).split('.');
    const payload = Buffer.from('{"role":"admin"}').toString('base64url');
    expect(await verify(`${header}.${payload}.${signature}`)).toBe('Invalid token signature');
    const stranger =
      kind === null
        ? Buffer.from('another secret that nobody knows of').subarray()
        : keyPair(kind as never).privateKey;
    expect(await verify(await sign({ alg, key: stranger }))).toBe('Invalid token signature');
  });

  it('is refused where another algorithm is wanted', async () => {
    const others = { JWT_SECRET: SECRET, JWT_PUBLIC_KEY: rsa.pem };
    const verify = verifierWith({ ...others, JWT_ALGORITHM: alg === 'RS256' ? 'RS384' : 'RS256' });
    expect(await verify(await sign({ alg, key }))).toBe('Unsupported token algorithm');
  });
});

describe('what a token says of itself', () => {
  const claims = { role: 'admin' };

  it.each(['none', 'None', 'NONE', '', 'HS1', 'RSA-OAEP', 'A256GCM', '__proto__'])(
    'makes no signature good: alg %j',
    async (alg) => {
      const verify = verifierWith({ JWT_SECRET: SECRET, JWT_PUBLIC_KEY: rsa.pem });
      for (const signature of ['', 'AAAA']) {
        expect(await verify(forge({ alg }, claims, signature))).toBe('Unsupported token algorithm');
      }
    },
  );

  it.each([
    ['as PEM', rsa.pem],
    ['as PEM, trimmed', rsa.pem.trim()],
    ['as DER', rsa.publicKey.export({ type: 'spki', format: 'der' })],
  ])('does not make a public key a secret (%s)', async (_, secret) => {
    const both = verifierWith({ JWT_SECRET: SECRET, JWT_PUBLIC_KEY: rsa.pem });
    const one = verifierWith({ JWT_PUBLIC_KEY: rsa.pem });
    const body = forge({ alg: 'HS256' }, claims).slice(0, -1);
    const token = `${body}.${createHmac('sha256', secret).update(body).digest('base64url')}`;
    expect(await both(token)).toBe('Invalid token signature');
    expect(await one(token)).toBe('Unsupported token algorithm');
  });

  it('brings no key of its own', async () => {
    const own = keyPair('rsa');
    const header = {
      alg: 'RS256',
      jwk: own.publicKey.export({ format: 'jwk' }),
      jku: 'http://127.0.0.1:1/keys',
    };
    const { SignJWT } = await import('jose');
    const token = await new SignJWT(claims).setProtectedHeader(header).sign(own.privateKey);
    expect(await verifierWith({ JWT_PUBLIC_KEY: rsa.pem })(token)).toBe('Invalid token signature');
  });
});

it.each<[string, string, string]>([
  ['nothing like a token', 'x', 'Bad token header'],
  ['two parts', 'a.b', 'Bad token header'],
  ['four parts', `${forge({ alg: 'HS256' }, {})}.x`, 'Bad token header'],
  ['another scheme', 'Basic dXNlcjpwYXNz', 'Bad token header'],
  ['a header that is no JSON', forge('{', {}), 'Bad token header'],
  ['a header that is a list', forge([], {}), 'Bad token header'],
  ['no algorithm', forge({}, {}), 'Bad token header'],
  ['an algorithm that is no text', forge({ alg: ['HS256'] }, {}), 'Bad token header'],
  ['a key id that is no text', forge({ alg: 'HS256', kid: {} }, {}), 'Bad token header'],
  [
    'an extension to be understood',
    forge({ alg: 'HS256', crit: ['b64'], b64: false }, {}),
    'Bad token header',
  ],
  ['a signature that is no base64url', forge({ alg: 'HS256' }, {}, '%%%'), 'Bad token header'],
  ['no signature', forge({ alg: 'HS256' }, {}), 'Invalid token signature'],
])('%s is refused', async (_, token, text) => {
  expect(await verifierWith({ JWT_SECRET: SECRET })(token)).toBe(text);
});

it.each(['{', '[]', 'null', '"text"', '5', ''])('claims %j are none', async (payload) => {
  const body = `${Buffer.from('{"alg":"HS256"}').toString('base64url')}.${Buffer.from(payload).toString('base64url')}`;
  const token = `${body}.${createHmac('sha256', SECRET).update(body).digest('base64url')}`;
  expect(await verifierWith({ JWT_SECRET: SECRET })(token)).toBe('Bad token claims');
});

it('a key id is not looked at where keys have none', async () => {
  const token = await sign({ kid: 'anything' });
  expect(await verifierWith({ JWT_SECRET: SECRET })(token)).toBe('good');
});

it('a public key of one kind serves no algorithm of another', async () => {
  const token = await sign({ alg: 'ES256', key: keys['P-256'].privateKey });
  expect(await verifierWith({ JWT_PUBLIC_KEY: rsa.pem })(token)).toBe('Unknown key ID');
});

it('what was verified is remembered until it expires', async () => {
  const auth = new AuthService(
    authOptions(parseEnvironment({ ...ON, JWT_SECRET: SECRET })),
    new SystemClock(),
  );
  const token = await sign();
  expect(auth.recall(token)).toBeNull();
  const identity = await auth.verify(token);
  expect(auth.recall(token)).toBe(identity);
  await expect(auth.verify(`${token}x`)).rejects.toThrow();
  expect(auth.stats()).toEqual({ remembered: 1, verified: 2 });
});
