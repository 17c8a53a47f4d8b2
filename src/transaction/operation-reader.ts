import { AckItemReader, UNRESOLVABLE } from '../ack/ack-item.js';
import { RepeatedText } from '../base/json/repeated-text.js';
import type { JsonCursor } from '../base/json/scanner.js';
import { nameProblem, QUEUE_MODE_GROUP } from '../base/names/names.js';
import { PushItemReader } from '../push/push-item.js';
import type { Operation } from './operation.js';

/** Why an operation cannot be carried out. `isOfRequest`: the text stands for itself, clients know it word for word. */
export interface OperationFault {
  readonly text: string;
  readonly isOfRequest: boolean;
}

const TYPE = Buffer.from('type');
const ITEMS = Buffer.from('items');
const CONSUMER_GROUP = Buffer.from('consumerGroup');

const UNKNOWN_TYPE: OperationFault = {
  text: 'segments transaction supports only push and ack operations',
  isOfRequest: true,
};

interface Shape {
  type: string | null;
  /** Of `items`; `none` when the operation has none, and is its own item. */
  items: ReturnType<JsonCursor['type']>;
}

/**
 * Reads the operations of one body with the readers of push and ack, so that an item means the same on every route. An
 * operation is looked at twice: its type may stand behind what it decides about.
 */
export class OperationReader {
  readonly operations: Operation[] = [];
  private readonly pushItems: PushItemReader;
  private readonly ackItems: AckItemReader;
  private readonly groups = new RepeatedText();

  /** @param onCount is told how many operations there are, before the next one is kept; it may throw */
  constructor(
    private readonly cursor: JsonCursor,
    private readonly onCount: (count: number) => void,
  ) {
    this.pushItems = new PushItemReader(cursor, true);
    this.ackItems = new AckItemReader(cursor);
  }

  /** The operation at the cursor goes into `operations`, or the answer is its first fault. */
  read(): OperationFault | null {
    const { cursor } = this;
    if (cursor.type() !== 'object') {
      cursor.skipValue();
      return fault('must be an object');
    }
    const start = cursor.at;
    const shape = this.shape();
    const next = cursor.at;
    cursor.at = start;
    const problem = this.readAs(shape);
    cursor.at = next;
    return problem;
  }

  private readAs({ type, items }: Shape): OperationFault | null {
    if (type === 'ack') return this.readAck();
    if (type !== 'push') return UNKNOWN_TYPE;
    if (items === 'none' || items === 'null') return this.readItem();
    return items === 'array' ? this.readItems() : fault('items must be an array');
  }

  private shape(): Shape {
    const { cursor } = this;
    const shape: Shape = { type: null, items: 'none' };
    for (let more = cursor.enterObject(); more; more = cursor.nextMember()) {
      if (cursor.tokenIs(ITEMS)) shape.items = cursor.type();
      else if (cursor.tokenIs(TYPE) && cursor.type() === 'string') {
        cursor.readString();
        shape.type = cursor.text();
        continue;
      }
      cursor.skipValue();
    }
    return shape;
  }

  private readItems(): OperationFault | null {
    const { cursor, operations } = this;
    const before = operations.length;
    let problem: OperationFault | null = null;
    for (let more = cursor.enterObject(); more; more = cursor.nextMember()) {
      if (!cursor.tokenIs(ITEMS) || cursor.type() !== 'array') {
        cursor.skipValue();
        continue;
      }
      operations.length = before; // the last one wins, as with JSON.parse
      problem = null;
      let index = 0;
      for (let next = cursor.enterArray(); next; next = cursor.nextElement(), index++) {
        const found = this.readItem();
        if (found) problem ??= fault(`item ${index}: ${found.text}`);
      }
    }
    return problem;
  }

  private readItem(): OperationFault | null {
    const item = this.pushItems.read();
    if (typeof item === 'string') return fault(item);
    if (item.problem) return fault(item.problem.error);
    this.add({ kind: 'push', item });
    return null;
  }

  private readAck(): OperationFault | null {
    let group = QUEUE_MODE_GROUP;
    let groupProblem: string | null = null;
    const ack = this.ackItems.read((cursor) => {
      if (!cursor.tokenIs(CONSUMER_GROUP)) return false;
      groupProblem = null;
      if (cursor.type() === 'string') {
        cursor.readString();
        group = this.groups.of(cursor) || QUEUE_MODE_GROUP;
        groupProblem = nameProblem('consumerGroup', group);
      } else {
        group = QUEUE_MODE_GROUP;
        if (cursor.type() !== 'null') groupProblem = 'consumerGroup must be a string or null';
        cursor.skipValue();
      }
      return true;
    });
    // An id that cannot exist is not a faulty request: it is unknown, which the transaction says as of any other.
    const problem = groupProblem ?? (ack.problem === UNRESOLVABLE ? null : ack.problem);
    if (problem !== null) return fault(problem);
    this.add({ kind: 'ack', ack, group });
    return null;
  }

  private add(operation: Operation): void {
    this.onCount(this.operations.length + 1);
    this.operations.push(operation);
  }
}

function fault(text: string): OperationFault {
  return { text, isOfRequest: false };
}
