import { createPrivateKey, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto';

/*
 * Certificates for tests of TLS, made on the spot: a pair in the repository would expire one day, and every scanner for
 * secrets would point at it. X.509 (RFC 5280) with what a TLS client of Node looks at, and nothing more.
 */

export interface Certificate {
  name: string;
  /** PEM. */
  cert: string;
  /** PEM. */
  key: string;
}

const OID = {
  commonName: [0x55, 0x04, 0x03],
  ecdsaWithSha256: [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02],
  subjectAltName: [0x55, 0x1d, 0x11],
  basicConstraints: [0x55, 0x1d, 0x13],
};

const TAG = { boolean: 0x01, integer: 0x02, bits: 0x03, octets: 0x04, oid: 0x06, utf8: 0x0c, utcTime: 0x17 };
const [SEQUENCE, SET] = [0x30, 0x31];

function der(tag: number, ...parts: (Buffer | number[])[]): Buffer {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part)));
  const { length } = body;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), body]);
}

const sequence = (...parts: Buffer[]) => der(SEQUENCE, ...parts);
const oid = (bytes: number[]) => der(TAG.oid, bytes);
const nameOf = (text: string) =>
  sequence(der(SET, sequence(oid(OID.commonName), der(TAG.utf8, Buffer.from(text)))));
const time = (ms: number) =>
  der(TAG.utcTime, Buffer.from(`${new Date(ms).toISOString().slice(2, 19).replace(/[-:T]/g, '')}Z`));
const extension = (id: number[], isCritical: boolean, value: Buffer) =>
  sequence(oid(id), ...(isCritical ? [der(TAG.boolean, [0xff])] : []), der(TAG.octets, value));

const DAY_MS = 24 * 3_600_000;

export interface CertificateOptions {
  /** Who signs it; itself when absent. */
  issuer?: Certificate;
  /** It may sign others. */
  isAuthority?: boolean;
  days?: number;
}

/** For `localhost` and 127.0.0.1. */
export function makeCertificate(
  name: string,
  { issuer, isAuthority = issuer === undefined, days = 30 }: CertificateOptions = {},
): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const signer: KeyObject = issuer ? createPrivateKey(issuer.key) : privateKey;
  const algorithm = sequence(oid(OID.ecdsaWithSha256));
  const alternatives = sequence(der(0x82, Buffer.from('localhost')), der(0x87, [127, 0, 0, 1]));
  const constraints = isAuthority ? sequence(der(TAG.boolean, [0xff])) : sequence();
  const signed = sequence(
    der(0xa0, der(TAG.integer, [2])),
    der(TAG.integer, [1], randomBytes(15)),
    algorithm,
    nameOf(issuer?.name ?? name),
    sequence(time(Date.now() - DAY_MS), time(Date.now() + days * DAY_MS)),
    nameOf(name),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(
      0xa3,
      sequence(
        extension(OID.subjectAltName, false, alternatives),
        extension(OID.basicConstraints, true, constraints),
      ),
    ),
  );
  const certificate = sequence(signed, algorithm, der(TAG.bits, [0], sign('sha256', signed, signer)));
  const lines = certificate.toString('base64').replace(/(.{64})/g, '$1\n');
  return {
    name,
    cert: `-----BEGIN CERTIFICATE-----\n${lines.trimEnd()}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}
