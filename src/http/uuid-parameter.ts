import { BrokerError } from '../base/errors/broker-error.js';
import { parseUuid } from '../segment/uuid-v7.js';

/** A uuid from a path or a body, in the spelling of the database. @throws BrokerError `bad_parameter` */
export function uuidParameter(name: string, value: string): string {
  if (!parseUuid(value)) throw new BrokerError('bad_parameter', `${name} must be a uuid`);
  return value.toLowerCase();
}
