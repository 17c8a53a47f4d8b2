import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { SignJWT, exportJWK, type JWK } from 'jose';

export const SECRET = 'a secret of the tests, of more than 32 bytes';

/** Claims of a token; `exp` in seconds from now. */
export interface TokenOptions {
  alg?: string;
  key?: KeyObject | Uint8Array;
  kid?: string;
  expInSeconds?: number | null;
  claims?: Record<string, unknown>;
}

/** A token as an issuer would sign it. */
export function sign({
  alg = 'HS256',
  key = Buffer.from(SECRET),
  kid,
  expInSeconds = 3600,
  claims = {},
}: TokenOptions = {}): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const exp = expInSeconds === null ? {} : { exp: now + expInSeconds };
  return new SignJWT({ iat: now, ...exp, ...claims })
    .setProtectedHeader({ alg, ...(kid === undefined ? {} : { kid }) })
    .sign(key);
}

export const roleToken = (role: string, claims: Record<string, unknown> = {}) =>
  sign({ claims: { role, ...claims } });

/** Any bytes as header and payload, with a signature that is only text. */
export function forge(header: unknown, payload: unknown, signature = ''): string {
  const part = (value: unknown) =>
    Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
  return `${part(header)}.${part(payload)}.${signature}`;
}

export interface KeyPair {
  publicKey: KeyObject;
  privateKey: KeyObject;
  pem: string;
}

export function keyPair(kind: 'rsa' | 'P-256' | 'P-384' | 'P-521' | 'ed25519'): KeyPair {
  const pair =
    kind === 'rsa'
      ? generateKeyPairSync('rsa', { modulusLength: 2048 })
      : kind === 'ed25519'
        ? generateKeyPairSync('ed25519')
        : generateKeyPairSync('ec', { namedCurve: kind });
  return { ...pair, pem: pair.publicKey.export({ type: 'spki', format: 'pem' }).toString() };
}

export async function publicJwk({ publicKey }: KeyPair, kid: string, alg?: string): Promise<JWK> {
  return { ...(await exportJWK(publicKey)), kid, use: 'sig', ...(alg === undefined ? {} : { alg }) };
}
