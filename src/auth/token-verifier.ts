import { compactVerify, decodeProtectedHeader, errors, type JWSHeaderParameters } from 'jose';
import type { Clock } from '../base/clock/clock.js';
import { BrokerError } from '../base/errors/broker-error.js';
import type { ClaimRules } from './auth.options.js';
import { identityOf, type Claims } from './claims.js';
import type { Identity } from './identity.js';
import type { KeySource } from './key-source.js';

const BAD_HEADER = 'Bad token header';

/** Tells whom a token speaks for; the texts of its refusals are those of http-api 1.1. */
export class TokenVerifier {
  /** @param sources asked in turn, until one has the key that signed the token */
  constructor(
    private readonly algorithms: ReadonlySet<string>,
    private readonly sources: readonly KeySource[],
    private readonly rules: ClaimRules,
    private readonly clock: Clock,
  ) {}

  /** @throws BrokerError `invalid_token`, `token_expired`, `keys_unavailable` */
  async verify(token: string): Promise<Identity> {
    const header = headerOf(token);
    // The list is the configuration's, and each key serves its own kind only: what a token says of itself selects
    // among these and can add nothing ("none", or HS256 with a public key as the secret).
    if (!this.algorithms.has(header.alg)) throw invalid('Unsupported token algorithm');
    return identityOf(await this.claimsOf(token, header), this.rules, this.clock.wallMs());
  }

  private async claimsOf(token: string, header: JWSHeaderParameters & { alg: string }): Promise<Claims> {
    let isTried = false;
    for (const source of this.sources) {
      for (const key of await source.keysFor(header)) {
        isTried = true;
        try {
          const { payload } = await compactVerify(token, key, { algorithms: [header.alg] });
          return parse(payload);
        } catch (error) {
          if (error instanceof errors.JWSSignatureVerificationFailed) continue;
          if (error instanceof BrokerError) throw error;
          throw invalid(BAD_HEADER);
        }
      }
    }
    throw invalid(isTried ? 'Invalid token signature' : 'Unknown key ID');
  }
}

function headerOf(token: string): JWSHeaderParameters & { alg: string } {
  let header: JWSHeaderParameters;
  try {
    header = decodeProtectedHeader(token);
  } catch {
    throw invalid(BAD_HEADER);
  }
  const { alg, kid, crit } = header;
  if (typeof alg !== 'string' || (kid !== undefined && typeof kid !== 'string')) throw invalid(BAD_HEADER);
  // An extension that must be understood, and none is.
  if (crit !== undefined) throw invalid(BAD_HEADER);
  return { ...header, alg };
}

function parse(payload: Uint8Array): Claims {
  let claims: unknown;
  try {
    claims = JSON.parse(Buffer.from(payload).toString());
  } catch {
    claims = null;
  }
  if (typeof claims !== 'object' || claims === null || Array.isArray(claims))
    throw invalid('Bad token claims');
  return claims as Claims;
}

function invalid(text: string): BrokerError {
  return new BrokerError('invalid_token', text);
}
