import { registerAs } from '@nestjs/config';
import { jwtFaults } from './jwt-faults.js';
import type { Setting } from './setting.js';
import { settings } from './settings.js';

export type SettingName = keyof typeof settings;
type ValueOf<S> = S extends Setting<infer T> ? T : never;

/** The configuration as read once at boot; frozen, typed by the table. */
export type Environment = { readonly [Name in SettingName]: ValueOf<(typeof settings)[Name]> };

export class ConfigurationError extends Error {
  constructor(readonly faults: readonly string[]) {
    super(
      `The configuration has ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}:\n  ${faults.join('\n  ')}`,
    );
    this.name = 'ConfigurationError';
  }
}

/** Reads every setting; all faults come in one error. Unset or empty means the default. */
export function parseEnvironment(source: Readonly<Record<string, string | undefined>>): Environment {
  const faults: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries(settings) as [string, Setting<unknown>][]) {
    const usedName = [name, ...setting.aliases].find((one) => (source[one] ?? '').trim() !== '');
    if (usedName === undefined) {
      values[name] = setting.default;
      continue;
    }
    try {
      values[name] = setting.read(source[usedName]!.trim());
    } catch (fault) {
      faults.push(`${usedName} ${(fault as Error).message}`);
      values[name] = setting.default;
    }
  }
  const environment = Object.freeze(values) as Environment;
  faults.push(...contradictions(environment));
  if (faults.length > 0) throw new ConfigurationError(faults);
  return environment;
}

function contradictions(environment: Environment): string[] {
  const faults: string[] = [];
  for (const lane of ['POP', 'PUSH', 'ACK'] as const) {
    const [init, min, max] = [
      environment[`QUEEN_SEG_${lane}_INIT`],
      environment[`QUEEN_SEG_${lane}_MIN`],
      environment[`QUEEN_SEG_${lane}_MAX`],
    ];
    if (min > max || init < min || init > max) {
      faults.push(`QUEEN_SEG_${lane}_MIN <= _INIT <= _MAX must hold, not ${min} <= ${init} <= ${max}`);
    }
  }
  if (environment.QUEEN_HOTLIST_CANDIDATES_MIN > environment.QUEEN_HOTLIST_CANDIDATES_MAX) {
    faults.push('QUEEN_HOTLIST_CANDIDATES_MIN must not exceed QUEEN_HOTLIST_CANDIDATES_MAX');
  }
  if (environment.QUEEN_VEGAS_ALPHA > environment.QUEEN_VEGAS_BETA) {
    faults.push('QUEEN_VEGAS_ALPHA must not exceed QUEEN_VEGAS_BETA: a lane would grow and shrink at once');
  }
  const { QUEEN_SHUTDOWN_LINGER_MS: lingerMs, QUEEN_SHUTDOWN_GRACE_MS: graceMs } = environment;
  if (lingerMs >= graceMs) {
    faults.push(
      `QUEEN_SHUTDOWN_LINGER_MS must be less than QUEEN_SHUTDOWN_GRACE_MS, not ${lingerMs} of ${graceMs}`,
    );
  }
  faults.push(...jwtFaults(environment));
  if ((environment.QUEEN_TLS_CERT_FILE === '') !== (environment.QUEEN_TLS_KEY_FILE === '')) {
    faults.push('QUEEN_TLS_CERT_FILE and QUEEN_TLS_KEY_FILE act only together');
  }
  if (environment.QUEEN_TLS_CLIENT_CA_FILE !== '' && environment.QUEEN_TLS_CERT_FILE === '') {
    faults.push('QUEEN_TLS_CLIENT_CA_FILE acts only with QUEEN_TLS_CERT_FILE');
  }
  return faults;
}

/** The process's own environment; the one place that reads it. */
export function loadEnvironment(): Environment {
  return parseEnvironment(process.env);
}

/** Names that start like ours and mean nothing, each with the nearest name that does. */
export function unknownSettings(
  source: Readonly<Record<string, string | undefined>> = process.env,
): string[] {
  const known = Object.entries(settings).flatMap(([name, setting]) => [name, ...setting.aliases]);
  return Object.keys(source)
    .filter((name) => /^(QUEEN|JWT)_/.test(name) && !name.startsWith('QUEEN_TEST_') && !known.includes(name))
    .map((name) => {
      const nearest = known
        .map((candidate) => ({ candidate, distance: editDistance(name, candidate) }))
        .sort((a, b) => a.distance - b.distance)[0]!;
      const hint =
        nearest.distance <= Math.ceil(name.length / 3) ? `; did you mean ${nearest.candidate}?` : '';
      return `${name} is not a setting of this broker and has no effect${hint}`;
    });
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next[j] = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1));
    }
    row = next;
  }
  return row[b.length]!;
}

/** The injection key of the frozen configuration: `@Inject(environmentConfig.KEY) environment: Environment`. */
export const environmentConfig = registerAs('environment', loadEnvironment);
