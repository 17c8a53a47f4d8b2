import type { DatabaseOptions } from './database-options.js';

/** The server's own limit lies a little above ours: the second line when our cancel request is lost. */
const SERVER_TIMEOUT_MARGIN_MS = 2000;

export interface SessionSetting {
  name: string;
  value: string;
  /** As `current_setting` spells the value. */
  shown: string;
}

/**
 * What every session of the pool is set to: UTC (Z18); plans that use an index, since every statement of ours means
 * one, and on small, freshly analysed tables the planner would cache a sequential scan into the prepared plan, which
 * then runs on until the next autovacuum; no JIT, whose compile time exceeds every statement we send.
 */
export function sessionSettings(options: Pick<DatabaseOptions, 'statementTimeoutMs'>): SessionSetting[] {
  const limitMs = options.statementTimeoutMs + SERVER_TIMEOUT_MARGIN_MS;
  return [
    same('timezone', 'UTC'),
    same('enable_seqscan', 'off'),
    same('random_page_cost', '1.1'),
    same('jit', 'off'),
    {
      name: 'statement_timeout',
      value: String(limitMs),
      shown: shownAs(limitMs),
    },
  ];
}

/** As a start-up parameter of the protocol; poolers refuse it or pass over it. */
export function asStartupOptions(settings: readonly SessionSetting[]): string {
  return settings.map(({ name, value }) => `-c ${name}=${value}`).join(' ');
}

function same(name: string, value: string): SessionSetting {
  return { name, value, shown: value };
}

/** PostgreSQL shows a time in the largest unit that divides it. */
function shownAs(ms: number): string {
  if (ms % 60_000 === 0) return `${ms / 60_000}min`;
  return ms % 1000 === 0 ? `${ms / 1000}s` : `${ms}ms`;
}
