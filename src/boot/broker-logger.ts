import type { LoggerService } from '@nestjs/common';
import { pino, type DestinationStream, type Logger } from 'pino';
import { maskWith } from './secret-mask.js';
import { terminalLine } from './terminal-line.js';

export interface BrokerLoggerOptions {
  /** Least important level written. */
  readonly level: string;
  /** `text`: for a person at a terminal; `json`: one object a line. */
  readonly format: 'json' | 'text';
  /** Never written, wherever they stand in a line. */
  readonly secrets: readonly string[];
  /** Which of several processes writes; a field of every line when given. */
  readonly worker?: number;
  /** Standard output when not given. */
  readonly destination?: DestinationStream;
}

/** A message with fields of its own: `logger.warn({ msg: 'what happened', requestId })`. */
interface Fields {
  readonly msg: string;
  readonly [field: string]: unknown;
}

/**
 * Nest's logger on pino: one JSON object a line with `level`, `time`, `context` and `msg`, `requestId` where a request
 * is meant and `stack` where there is one. Nothing per message at info.
 */
export class BrokerLogger implements LoggerService {
  private readonly pino: Logger;

  constructor({ level, format, secrets, worker, destination = pino.destination(1) }: BrokerLoggerOptions) {
    const mask = maskWith(secrets);
    this.pino = pino(
      {
        level,
        base: worker === undefined ? undefined : { worker },
        timestamp: pino.stdTimeFunctions.isoTime,
        formatters: { level: (label) => ({ level: label }) },
        hooks: { streamWrite: (line) => mask(format === 'text' ? terminalLine(line) : line) },
      },
      destination,
    );
  }

  log(message: unknown, context?: string): void {
    // Nest's own start-up chatter (one line per route and module) is debug to an operator.
    const level = context !== undefined && NEST_CONTEXTS.has(context) ? 'debug' : 'info';
    this.pino[level]({ context, ...fieldsOf(message) }, textOf(message));
  }

  error(message: unknown, stackOrContext?: string, context?: string): void {
    const origin =
      context === undefined
        ? { context: stackOrContext }
        : { context, stack: stackOrContext ?? stackOf(message) };
    this.pino.error({ ...origin, ...fieldsOf(message) }, textOf(message));
  }

  warn(message: unknown, context?: string): void {
    this.pino.warn({ context, ...fieldsOf(message) }, textOf(message));
  }

  debug(message: unknown, context?: string): void {
    this.pino.debug({ context, ...fieldsOf(message) }, textOf(message));
  }

  verbose(message: unknown, context?: string): void {
    this.pino.trace({ context, ...fieldsOf(message) }, textOf(message));
  }

  fatal(message: unknown, context?: string): void {
    this.pino.fatal({ context, ...fieldsOf(message) }, textOf(message));
  }
}

const NEST_CONTEXTS = new Set([
  'NestFactory',
  'InstanceLoader',
  'RoutesResolver',
  'RouterExplorer',
  'NestApplication',
]);

function hasFields(message: unknown): message is Fields {
  return typeof message === 'object' && message !== null && !(message instanceof Error) && 'msg' in message;
}

function fieldsOf(message: unknown): Record<string, unknown> {
  if (!hasFields(message)) return {};
  const { msg: _, ...fields } = message;
  return fields;
}

function textOf(message: unknown): string {
  return hasFields(message) ? message.msg : String(message);
}

function stackOf(message: unknown): string | undefined {
  return message instanceof Error ? message.stack : undefined;
}
