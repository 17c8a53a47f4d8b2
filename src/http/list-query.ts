import { BrokerError } from '../base/errors/broker-error.js';
import { textFlaw } from '../base/json/text-flaw.js';
import { parseInstant } from '../base/time/parse-instant.js';

export interface IntegerRule {
  default: number;
  min: number;
  max: number;
}

const TRUE = new Set(['true', '1', 'yes']);
const FALSE = new Set(['false', '0', 'no']);

/**
 * The query of an administrative route. A parameter without a value counts as not given. Numbers are plain decimals;
 * one outside its range is clamped, and the answer shows what was used. Anything that cannot be read is a BrokerError
 * `bad_parameter` that names the parameter, and so is one that is given twice.
 */
export class ListQuery {
  private readonly values = new Map<string, string>();
  private readonly names: string[] = [];

  /** @param url path and query of the request */
  constructor(url: string) {
    const start = url.indexOf('?');
    for (const [name, value] of new URLSearchParams(start < 0 ? '' : url.slice(start + 1))) {
      if (this.names.includes(name)) throw bad(`${name} is given more than once`);
      this.names.push(name);
      if (value !== '') this.values.set(name, value);
    }
  }

  /** For routes that delete: a misspelt filter would widen what they do. */
  allowOnly(names: readonly string[]): this {
    const unknown = this.names.find((name) => !names.includes(name));
    if (unknown === undefined) return this;
    throw bad(`${JSON.stringify(unknown)} is no parameter of this route; it takes ${names.join(', ')}`);
  }

  /** Whether the parameter is there at all, with a value or without. */
  has(name: string): boolean {
    return this.names.includes(name);
  }

  /** The first of the names that has a value; null when none has. */
  text(...names: string[]): string | null {
    for (const name of names) {
      const value = this.values.get(name);
      if (value === undefined) continue;
      const flaw = textFlaw(value);
      if (flaw) throw bad(`${name} must not contain ${flaw}`);
      return value;
    }
    return null;
  }

  oneOf<const T extends string>(name: string, allowed: readonly T[]): T | null {
    const value = this.text(name);
    if (value === null) return null;
    if ((allowed as readonly string[]).includes(value)) return value as T;
    throw bad(`${name} must be one of ${allowed.join(', ')}`);
  }

  integer(name: string, rule: IntegerRule): number {
    const value = this.values.get(name);
    if (value === undefined) return rule.default;
    if (!/^-?\d{1,15}$/.test(value)) throw bad(`${name} must be an integer`);
    return Math.min(Math.max(Number(value), rule.min), rule.max);
  }

  boolean(name: string, whenAbsent: boolean): boolean {
    const value = this.values.get(name)?.toLowerCase();
    if (value === undefined) return whenAbsent;
    if (TRUE.has(value)) return true;
    if (FALSE.has(value)) return false;
    throw bad(`${name} must be true or false`);
  }

  /** Microseconds since the epoch; null when absent. */
  instant(name: string): number | null {
    const value = this.values.get(name);
    return value === undefined ? null : instantOf(name, value);
  }
}

export function instantOf(name: string, text: string): number {
  const micros = parseInstant(text);
  if (micros === null) throw bad(`${name} must be an ISO 8601 time, such as 2026-08-05T10:11:12Z`);
  return micros;
}

function bad(text: string): BrokerError {
  return new BrokerError('bad_parameter', text);
}
