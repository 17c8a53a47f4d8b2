import { createPublicKey, type KeyObject } from 'node:crypto';

const RSA_BITS_MIN = 2048;
const OF_CURVE: Readonly<Record<string, string>> = {
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
};

/**
 * Reads a PEM public key or certificate; in a variable its line breaks may be spelled `\n`.
 * @throws Error whose message completes "JWT_PUBLIC_KEY …" and holds nothing of the key
 */
export function readPublicKey(pem: string): KeyObject {
  if (pem.includes('PRIVATE KEY')) {
    throw new Error('holds a private key; the broker needs the public one, and nobody else the private one');
  }
  let key: KeyObject;
  try {
    key = createPublicKey(pem.replaceAll('\\n', '\n'));
  } catch {
    throw new Error('must be a public key or a certificate in PEM');
  }
  if (algorithmsOf(key).length === 0) {
    throw new Error(`must be RSA of at least ${RSA_BITS_MIN} bits, P-256, P-384, P-521 or Ed25519`);
  }
  return key;
}

/** What may be verified with this key. One of RSA is never taken for the secret of an HS token. */
export function algorithmsOf(key: KeyObject): string[] {
  switch (key.asymmetricKeyType) {
    case 'rsa':
      return (key.asymmetricKeyDetails?.modulusLength ?? 0) >= RSA_BITS_MIN
        ? ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']
        : [];
    case 'ec': {
      const algorithm = OF_CURVE[key.asymmetricKeyDetails?.namedCurve ?? ''];
      return algorithm === undefined ? [] : [algorithm];
    }
    case 'ed25519':
      return ['EdDSA'];
    default:
      return [];
  }
}
