import { BrokerError } from '../base/errors/broker-error.js';
import { badBody, readJsonBody } from '../base/json/read-json-body.js';

const ENABLED = Buffer.from('enabled');

/**
 * `{"enabled": boolean}`. Throws BrokerError `bad_body`: for what is not a JSON object or has an `enabled` of another
 * type, and with its own sentence where it is missing (null counts as missing).
 */
export function parseSwitchBody(body: Buffer): boolean {
  const enabled = readJsonBody(body, (cursor): boolean | null => {
    if (cursor.type() !== 'object') throw badBody('expected an object with enabled');
    let found: boolean | null = null;
    for (let more = cursor.enterObject(); more; more = cursor.nextMember()) {
      if (!cursor.tokenIs(ENABLED)) {
        cursor.skipValue();
        continue;
      }
      const type = cursor.type();
      const value = cursor.slice().toString();
      if (type !== 'boolean' && type !== 'null') throw badBody('enabled must be a boolean');
      found = type === 'null' ? null : value === 'true';
    }
    return found;
  });
  if (enabled === null) throw new BrokerError('bad_body', 'enabled (boolean) is required');
  return enabled;
}
