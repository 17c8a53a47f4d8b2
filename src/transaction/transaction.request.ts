import { BrokerError } from '../base/errors/broker-error.js';
import { badBody, readJsonBody } from '../base/json/read-json-body.js';
import type { JsonCursor } from '../base/json/scanner.js';
import { withoutFlaws } from '../base/json/text-flaw.js';
import type { Operation } from './operation.js';
import { OperationReader } from './operation-reader.js';

export interface TransactionRequest {
  /** In the order of the body; the reply has one result for each. A push operation with many items is many of these. */
  readonly operations: readonly Operation[];
  /** Every lease the request names: in `requiredLeases` and beside its acks. Without repetitions. */
  readonly leases: readonly string[];
}

/** As many as a push or an ack batch may have; each costs memory many times its bytes. */
export const MAX_OPERATIONS = 250_000;

const OPERATIONS = Buffer.from('operations');
const REQUIRED_LEASES = Buffer.from('requiredLeases');

/**
 * `{"operations":[{"type":"push",…},{"type":"ack",…}],"requiredLeases":[…]}`.
 * Throws BrokerError `bad_body` for what is not a JSON object, `json_too_deep`, `body_too_large` beyond MAX_OPERATIONS,
 * and `bad_transaction` for operations that cannot be carried out, naming the first one that cannot.
 */
export function parseTransactionBody(body: Buffer): TransactionRequest {
  const { operations, required, problem } = readJsonBody(body, readEnvelope);
  // Judged after the whole body has turned out to be JSON.
  if (problem !== null) throw badTransaction(problem);
  if (operations === null) throw badTransaction('transaction requires an operations array');

  const leases = new Set(required);
  for (const operation of operations) {
    if (operation.kind === 'ack' && operation.ack.leaseId !== '') leases.add(operation.ack.leaseId);
  }
  return { operations, leases: [...leases] };
}

interface Envelope {
  operations: Operation[] | null;
  required: string[];
  problem: string | null;
}

function readEnvelope(cursor: JsonCursor): Envelope {
  if (cursor.type() !== 'object') throw badBody('expected an object');
  let operations: Operation[] | null = null;
  let required: string[] = [];
  let operationsProblem: string | null = null;
  let leasesProblem: string | null = null;
  for (let more = cursor.enterObject(); more; more = cursor.nextMember()) {
    if (cursor.tokenIs(OPERATIONS)) {
      // A repeated key replaces what came before with all its faults, as with JSON.parse.
      ({ operations, problem: operationsProblem } = readOperations(cursor));
    } else if (cursor.tokenIs(REQUIRED_LEASES)) {
      ({ required, problem: leasesProblem } = readLeases(cursor));
    } else cursor.skipValue();
  }
  return { operations, required, problem: operationsProblem ?? leasesProblem };
}

function readOperations(cursor: JsonCursor): Pick<Envelope, 'operations' | 'problem'> {
  if (cursor.type() !== 'array') {
    cursor.skipValue();
    return { operations: null, problem: null };
  }
  const reader = new OperationReader(cursor, (count) => {
    if (count > MAX_OPERATIONS)
      throw new BrokerError('body_too_large', `a transaction holds at most ${MAX_OPERATIONS} operations`);
  });
  let problem: string | null = null;
  let index = 0;
  for (let more = cursor.enterArray(); more; more = cursor.nextElement(), index++) {
    const fault = reader.read();
    if (fault !== null) problem ??= fault.isOfRequest ? fault.text : `operation ${index}: ${fault.text}`;
  }
  return { operations: reader.operations, problem };
}

/** Clients collect the leases of the messages they ack here; null and '' stand for messages that had none. */
function readLeases(cursor: JsonCursor): { required: string[]; problem: string | null } {
  const type = cursor.type();
  if (type !== 'array') {
    cursor.skipValue();
    return { required: [], problem: type === 'null' ? null : LEASES_RULE };
  }
  const required: string[] = [];
  let problem: string | null = null;
  for (let more = cursor.enterArray(); more; more = cursor.nextElement()) {
    const element = cursor.type();
    if (element === 'string') {
      cursor.readString();
      const lease = withoutFlaws(cursor.text());
      if (lease !== '') required.push(lease);
    } else {
      cursor.skipValue();
      if (element !== 'null') problem = LEASES_RULE;
    }
  }
  return { required, problem };
}

const LEASES_RULE = 'requiredLeases must be an array of strings';

function badTransaction(text: string): BrokerError {
  return new BrokerError('bad_transaction', text);
}
