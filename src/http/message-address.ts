import { BrokerError } from '../base/errors/broker-error.js';
import { textFlaw } from '../base/json/text-flaw.js';
import { parseUuid } from '../segment/uuid-v7.js';

/** The only address a message has: ids live inside segments, and a transactionId is unique in its partition only. */
export interface MessageAddress {
  readonly tenant: string;
  readonly partitionId: string;
  readonly transactionId: string;
}

/** From a path. @throws BrokerError `bad_parameter` for what can be no address */
export function messageAddress(tenant: string, partitionId: string, transactionId: string): MessageAddress {
  const flaw = textFlaw(transactionId);
  if (flaw) throw new BrokerError('bad_parameter', `transactionId must not contain ${flaw}`);
  return { tenant, partitionId: uuidParameter('partitionId', partitionId), transactionId };
}

/** In the spelling of the database. @throws BrokerError `bad_parameter` */
export function uuidParameter(name: string, value: string): string {
  if (!parseUuid(value)) throw new BrokerError('bad_parameter', `${name} must be a uuid`);
  return value.toLowerCase();
}
