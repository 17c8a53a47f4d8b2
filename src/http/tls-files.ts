import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import type { Environment } from '../base/config/environment.js';

/** What the files hold, in PEM. */
export interface TlsMaterial extends SecureContextOptions {
  cert: Buffer;
  key: Buffer;
  ca?: Buffer;
  minVersion: 'TLSv1.2';
}

/** @throws Error that names the file and what is wrong with it; nothing of a key is in it */
export function readTlsFiles(environment: Environment): TlsMaterial {
  const { QUEEN_TLS_CLIENT_CA_FILE: caFile } = environment;
  const material: TlsMaterial = {
    cert: read('QUEEN_TLS_CERT_FILE', environment),
    key: read('QUEEN_TLS_KEY_FILE', environment),
    ...(caFile === '' ? {} : { ca: read('QUEEN_TLS_CLIENT_CA_FILE', environment) }),
    minVersion: 'TLSv1.2',
  };
  certificate('QUEEN_TLS_CERT_FILE', material.cert);
  if (material.ca) certificate('QUEEN_TLS_CLIENT_CA_FILE', material.ca);
  try {
    createSecureContext(material);
  } catch (error) {
    const { code = 'no code' } = error as { code?: string };
    throw new Error(
      `QUEEN_TLS_KEY_FILE is no private key in PEM, or not that of QUEEN_TLS_CERT_FILE (${code})`,
      {
        cause: error,
      },
    );
  }
  return material;
}

/** Milliseconds since the epoch until which the broker's certificate is good. */
export function expiryOf({ cert }: TlsMaterial): number {
  return Date.parse(new X509Certificate(cert).validTo);
}

export function isSame(a: TlsMaterial, b: TlsMaterial): boolean {
  const same = (x?: Buffer, y?: Buffer) => (x && y ? x.equals(y) : x === y);
  return same(a.cert, b.cert) && same(a.key, b.key) && same(a.ca, b.ca);
}

type FileSetting = 'QUEEN_TLS_CERT_FILE' | 'QUEEN_TLS_KEY_FILE' | 'QUEEN_TLS_CLIENT_CA_FILE';

function read(name: FileSetting, environment: Environment): Buffer {
  try {
    return readFileSync(environment[name]);
  } catch (error) {
    throw new Error(`${name} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}

function certificate(name: FileSetting, pem: Buffer): void {
  try {
    new X509Certificate(pem);
  } catch (error) {
    throw new Error(`${name} holds no certificate in PEM`, { cause: error });
  }
}
