import type { Environment } from '../base/config/environment.js';
import type { Setting } from '../base/config/setting.js';
import { settings } from '../base/config/settings.js';

const MASK = '[redacted]';
/** A shorter one would blank out ordinary words, and is no secret anyway. */
const LENGTH_MIN = 6;

/** What must never be printed: the values of all secret settings, and the password inside an address. */
export function secretsOf(environment: Environment): string[] {
  const secrets = new Set<string>();
  for (const [name, setting] of Object.entries(settings) as [keyof Environment, Setting<unknown>][]) {
    const value = environment[name];
    if (!setting.secret || typeof value !== 'string' || value === setting.default) continue;
    for (const secret of [value, ...passwordsIn(value)]) if (secret.length >= LENGTH_MIN) secrets.add(secret);
  }
  // A secret that contains another goes first, or its rest would stay.
  return [...secrets].sort((a, b) => b.length - a.length);
}

/** Replaces every secret in a line, also where JSON has escaped it. */
export function maskWith(secrets: readonly string[]): (line: string) => string {
  const spellings = new Set(secrets.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]));
  const all = [...spellings].sort((a, b) => b.length - a.length);
  return (line) => {
    let masked = line;
    for (const secret of all) if (masked.includes(secret)) masked = masked.replaceAll(secret, MASK);
    return masked;
  };
}

function passwordsIn(value: string): string[] {
  if (!URL.canParse(value)) return [];
  const { password } = new URL(value);
  return [password, decoded(password)];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
