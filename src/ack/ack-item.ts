import { RepeatedText } from '../base/json/repeated-text.js';
import type { JsonCursor } from '../base/json/scanner.js';
import { textFlaw, withoutFlaws } from '../base/json/text-flaw.js';

export type AckStatus = 'completed' | 'failed' | 'retry' | 'dlq';

/** One acknowledgement as it came in the body. */
export interface AckItem {
  /** Exactly the client's text, for the reply and for its hash; '' when it sent none. */
  transactionId: string;
  /** Lower-case uuid; '' when the client's text is not one. */
  partitionId: string;
  status: AckStatus;
  /** '' for an ack without a lease. */
  leaseId: string;
  /** Why the consumer refused the message; U+0000 and lone surrogates have become U+FFFD. */
  error: string | null;
  /** What the client wrote as status: its text, or the JSON of another type; null when absent. */
  rawStatus: string | null;
  /** The error text of this item's result: it cannot mean any message and must not reach the database. */
  problem: string | null;
}

/** The reply for an id that no message in the window has; clients look for "unresolv". */
export const UNRESOLVABLE =
  'unresolvable: transaction not in the ack window (hash purged or never pushed); if leased, the message redelivers';

const TRANSACTION_ID = Buffer.from('transactionId');
const PARTITION_ID = Buffer.from('partitionId');
const STATUS = Buffer.from('status');
const LEASE_ID = Buffer.from('leaseId');
const ERROR = Buffer.from('error');

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Case-sensitive; every other text is a failure (http rule 3.4). */
const STATUSES = new Map<string, AckStatus>([
  ['completed', 'completed'],
  ['success', 'completed'],
  ['acked', 'completed'],
  ['ok', 'completed'],
  ['retry', 'retry'],
  ['dlq', 'dlq'],
]);

/** A field's text; null when absent or JSON null; undefined for another type. */
type Field = string | null | undefined;

/**
 * Reads the acknowledgements of one body, one after the other. Never refuses one: the caller owes a result for each, in
 * order, so what is wrong with an item is its `problem`. A repeated key replaces what came before, as with JSON.parse.
 */
export class AckItemReader {
  private readonly partitionIds = new RepeatedText();
  private readonly statuses = new RepeatedText();
  private readonly leaseIds = new RepeatedText();

  constructor(private readonly cursor: JsonCursor) {}

  /** The item at the cursor. `readOther` may read the value of a key that is not an item's, and then returns true. */
  read(readOther?: (cursor: JsonCursor) => boolean): AckItem {
    const { cursor } = this;
    if (cursor.type() !== 'object') {
      cursor.skipValue();
      return unusable('an acknowledgment must be an object');
    }

    let transactionId: Field = null;
    let isTransactionIdFlawed = false;
    let partitionId: Field = null;
    let leaseId: Field = null;
    let rawStatus: string | null = null;
    let error: string | null = null;

    for (let more = cursor.enterObject(); more; more = cursor.nextMember()) {
      if (cursor.tokenIs(TRANSACTION_ID)) {
        transactionId = readText(cursor);
        isTransactionIdFlawed = transactionId
          ? cursor.tokenEscaped && textFlaw(transactionId) !== null
          : false;
      } else if (cursor.tokenIs(PARTITION_ID)) partitionId = readText(cursor, this.partitionIds);
      else if (cursor.tokenIs(STATUS)) rawStatus = readAnything(cursor, this.statuses);
      else if (cursor.tokenIs(LEASE_ID)) leaseId = readText(cursor, this.leaseIds);
      else if (cursor.tokenIs(ERROR)) error = readAnything(cursor);
      else if (!readOther?.(cursor)) cursor.skipValue();
    }

    const problem =
      idProblem('transactionId', transactionId) ?? partitionProblem(partitionId) ?? leaseProblem(leaseId);
    return {
      transactionId: transactionId ?? '',
      partitionId: partitionId && UUID.test(partitionId) ? partitionId.toLowerCase() : '',
      status: statusOf(rawStatus),
      leaseId: leaseId ? withoutFlaws(leaseId) : '',
      error,
      rawStatus,
      problem: problem ?? (isTransactionIdFlawed ? UNRESOLVABLE : null),
    };
  }
}

function statusOf(rawStatus: string | null): AckStatus {
  return rawStatus === null ? 'completed' : (STATUSES.get(rawStatus) ?? 'failed');
}

function idProblem(name: 'transactionId' | 'partitionId', id: Field): string | null {
  if (id === null) return `${name} is required`;
  return id === undefined ? `${name} must be a string` : null;
}

function partitionProblem(partitionId: Field): string | null {
  return (
    idProblem('partitionId', partitionId) ??
    (UUID.test(partitionId ?? '') ? null : 'partitionId must be a uuid')
  );
}

/** Taking another type as "no lease" would drop the check the client asked for. */
function leaseProblem(leaseId: Field): string | null {
  return leaseId === undefined ? 'leaseId must be a string or null' : null;
}

function unusable(problem: string): AckItem {
  return {
    transactionId: '',
    partitionId: '',
    status: 'failed',
    leaseId: '',
    error: null,
    rawStatus: null,
    problem,
  };
}

function readText(cursor: JsonCursor, texts?: RepeatedText): Field {
  const type = cursor.type();
  if (type !== 'string') {
    cursor.skipValue();
    return type === 'null' ? null : undefined;
  }
  cursor.readString();
  return texts ? texts.of(cursor) : cursor.text();
}

/** For fields that nothing depends on but people: another type is taken as its JSON text. */
function readAnything(cursor: JsonCursor, texts?: RepeatedText): string | null {
  if (cursor.type() !== 'string') {
    const json = cursor.slice().toString();
    return json === 'null' ? null : json;
  }
  cursor.readString();
  const text = texts ? texts.of(cursor) : cursor.text();
  return cursor.tokenEscaped ? withoutFlaws(text) : text;
}
