import type { LoggerService } from '@nestjs/common';
import { pino, type Logger } from 'pino';

/** Nest's logger on pino: one JSON object a line, `context` as a field, nothing per message at info. */
export class BrokerLogger implements LoggerService {
  private readonly pino: Logger;

  constructor(level: string) {
    this.pino = pino({ level, base: undefined, timestamp: pino.stdTimeFunctions.isoTime });
  }

  log(message: unknown, context?: string): void {
    // Nest's own start-up chatter (one line per route and module) is debug to an operator.
    const level = context !== undefined && NEST_CONTEXTS.has(context) ? 'debug' : 'info';
    this.pino[level]({ context }, String(message));
  }

  error(message: unknown, stackOrContext?: string, context?: string): void {
    this.pino.error(
      context === undefined ? { context: stackOrContext } : { context, stack: stackOrContext },
      String(message),
    );
  }

  warn(message: unknown, context?: string): void {
    this.pino.warn({ context }, String(message));
  }

  debug(message: unknown, context?: string): void {
    this.pino.debug({ context }, String(message));
  }

  verbose(message: unknown, context?: string): void {
    this.pino.trace({ context }, String(message));
  }

  fatal(message: unknown, context?: string): void {
    this.pino.fatal({ context }, String(message));
  }
}

const NEST_CONTEXTS = new Set([
  'NestFactory',
  'InstanceLoader',
  'RoutesResolver',
  'RouterExplorer',
  'NestApplication',
]);
