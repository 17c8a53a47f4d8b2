import { BrokerError } from '../base/errors/broker-error.js';
import { badBody, readJsonBody } from '../base/json/read-json-body.js';

/** Which sides of a queue are meant. */
export interface PauseRequest {
  readonly pops: boolean;
  readonly pushes: boolean;
}

/**
 * `{"pops"?:bool,"pushes"?:bool}`: a side that is left out (or null) is not meant. No body, or `{}`, means both.
 * @throws BrokerError `bad_body`, `bad_parameter`
 */
export function parsePauseBody(body: Buffer): PauseRequest {
  if (body.length === 0) return { pops: true, pushes: true };
  readJsonBody(body, (cursor) => {
    if (cursor.type() !== 'object') throw badBody('expected an object');
    cursor.skipValue();
  });
  const { pops, pushes } = JSON.parse(body.toString()) as Record<string, unknown>;
  const sides = { pops: side('pops', pops), pushes: side('pushes', pushes) };
  if (sides.pops === null && sides.pushes === null) return { pops: true, pushes: true };
  return { pops: sides.pops ?? false, pushes: sides.pushes ?? false };
}

function side(name: string, value: unknown): boolean | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'boolean') return value;
  throw new BrokerError('bad_parameter', `${name} must be true or false`, { parameters: [name] });
}
