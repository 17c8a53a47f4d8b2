import type { Environment } from './environment.js';
import { algorithmsOf, readPublicKey } from './public-key.js';

const ROLES = ['JWT_ROLE_ADMIN', 'JWT_ROLE_READ_WRITE', 'JWT_ROLE_READ_ONLY', 'JWT_ROLE_WRITE_ONLY'] as const;

/** With JWT_ENABLED there must be keys to verify with (http-api 7): a broker that refuses everybody is no secure one. */
export function jwtFaults(environment: Environment): string[] {
  if (!environment.JWT_ENABLED) return [];
  const { JWT_ALGORITHM: algorithm, JWT_SECRET: secret } = environment;
  const hasPublic = environment.JWT_PUBLIC_KEY !== '' || environment.JWT_JWKS_URL !== '';
  const faults: string[] = [];
  if (algorithm === 'auto' && !secret && !hasPublic) {
    faults.push('JWT_ENABLED needs JWT_SECRET, JWT_PUBLIC_KEY or JWT_JWKS_URL');
  }
  if (algorithm.startsWith('HS') && !secret) {
    faults.push(`JWT_ENABLED with JWT_ALGORITHM ${algorithm} needs JWT_SECRET`);
  }
  if (!algorithm.startsWith('HS') && algorithm !== 'auto' && !hasPublic) {
    faults.push(`JWT_ENABLED with JWT_ALGORITHM ${algorithm} needs JWT_PUBLIC_KEY or JWT_JWKS_URL`);
  }
  faults.push(...publicKeyFaults(environment.JWT_PUBLIC_KEY, algorithm));
  const names = ROLES.map((role) => environment[role]);
  if (new Set(names).size < names.length) faults.push(`${ROLES.join(', ')} must be four different names`);
  if (environment.JWT_TENANT_CLAIM !== '' && !environment.QUEEN_TENANCY_HEADER) {
    faults.push('JWT_TENANT_CLAIM acts only with QUEEN_TENANCY_HEADER=true');
  }
  return faults;
}

function publicKeyFaults(pem: string, algorithm: string): string[] {
  if (pem === '') return [];
  try {
    const algorithms = algorithmsOf(readPublicKey(pem));
    if (algorithm === 'auto' || algorithm.startsWith('HS') || algorithms.includes(algorithm)) return [];
    return [`JWT_PUBLIC_KEY serves ${algorithms.join(', ')}, not JWT_ALGORITHM ${algorithm}`];
  } catch (error) {
    return [`JWT_PUBLIC_KEY ${(error as Error).message}`];
  }
}
