import type { Environment } from '../base/config/environment.js';
import { BrokerLogger } from './broker-logger.js';
import { secretsOf } from './secret-mask.js';

/** @param worker which of several processes this is; stands in every line then */
export function loggerFor(environment: Environment, worker?: number): BrokerLogger {
  const { LOG_LEVEL: level, LOG_FORMAT: wanted } = environment;
  const format = wanted === 'auto' ? (process.stdout.isTTY ? 'text' : 'json') : wanted;
  return new BrokerLogger({ level, format, secrets: secretsOf(environment), worker });
}
