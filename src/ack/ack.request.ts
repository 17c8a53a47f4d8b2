import { BrokerError } from '../base/errors/broker-error.js';
import type { BodySlices } from '../base/json/body-slices.js';
import {
  badBody,
  readJsonBody,
  readJsonBodyAtOnce,
  readJsonBodyInSlices,
} from '../base/json/read-json-body.js';
import type { JsonCursor } from '../base/json/scanner.js';
import { textFlaw } from '../base/json/text-flaw.js';
import { QUEUE_MODE_GROUP } from '../base/names/names.js';
import { AckItemReader, type AckItem } from './ack-item.js';

export interface AckRequest {
  /** The consumer group; QUEUE_MODE_GROUP when the request names none. */
  group: string;
  /** In the order of the body; the reply has one result for each. */
  items: AckItem[];
}

/** A body of the smallest items can hold millions, and each costs memory many times its bytes. */
export const MAX_ACK_ITEMS = 250_000;

const CONSUMER_GROUP = Buffer.from('consumerGroup');
const ACKNOWLEDGMENTS = Buffer.from('acknowledgments');

/**
 * `POST /api/v1/ack`: one acknowledgement, with its group beside it.
 * Throws BrokerError `bad_body` for what is not a JSON object or has an unusable consumerGroup, `json_too_deep`. What is
 * wrong with the item itself is its `problem`, so that the reply is always an array with one result for each ack.
 */
export function parseAckBody(body: Buffer): AckRequest {
  return readJsonBody(body, (cursor) => {
    if (cursor.type() !== 'object') throw badBody('expected an object');
    let group = QUEUE_MODE_GROUP;
    const item = new AckItemReader(cursor).read((key) => {
      if (!key.tokenIs(CONSUMER_GROUP)) return false;
      group = readGroup(key);
      return true;
    });
    return { group, items: [item] };
  });
}

/**
 * `POST /api/v1/ack/batch`: `{"acknowledgments":[…],"consumerGroup"?}`. The group stands at the top only; no
 * acknowledgments (absent, null or empty) is an empty request. Throws as parseAckBody() does, also when
 * `acknowledgments` is something else than an array, and `body_too_large` beyond MAX_ACK_ITEMS.
 */
export function parseAckBatchBody(body: Buffer): AckRequest {
  return readJsonBodyAtOnce(body, readBatch);
}

/**
 * The same with a turn of the event loop after each slice of a large body (SLICE_BYTES); a small one is read at once, and
 * the result is no promise.
 * @param sliceBytes for specs
 */
export function parseAckBatchBodyInSlices(
  body: Buffer,
  sliceBytes?: number,
): AckRequest | Promise<AckRequest> {
  return readJsonBodyInSlices(body, readBatch, sliceBytes);
}

function* readBatch(slices: BodySlices): Generator<void, AckRequest> {
  const { cursor } = slices;
  if (cursor.type() !== 'object') throw badBody('expected an object');
  let group = QUEUE_MODE_GROUP;
  let items: AckItem[] = [];
  let more = yield* slices.step(() => cursor.enterObject());
  while (more) {
    if (cursor.tokenIs(ACKNOWLEDGMENTS)) items = yield* readItems(slices);
    else if (cursor.tokenIs(CONSUMER_GROUP)) group = yield* slices.step(() => readGroup(cursor));
    else yield* slices.step(() => cursor.skipValue());
    more = yield* slices.step(() => cursor.nextMember());
  }
  return { group, items };
}

function* readItems(slices: BodySlices): Generator<void, AckItem[]> {
  const { cursor } = slices;
  const type = cursor.type();
  if (type === 'null') {
    yield* slices.step(() => cursor.skipValue());
    return [];
  }
  if (type !== 'array') throw badBody('acknowledgments must be an array');
  const reader = new AckItemReader(cursor);
  const items: AckItem[] = [];
  yield* slices.elements(
    () => reader.read(),
    (item) => {
      if (items.length === MAX_ACK_ITEMS) {
        throw new BrokerError(
          'body_too_large',
          `an ack batch holds at most ${MAX_ACK_ITEMS} acknowledgments`,
        );
      }
      items.push(item);
    },
  );
  return items;
}

/**
 * An empty group means none, as on the other routes. A text that PostgreSQL cannot hold is refused rather than
 * cleaned: cleaned, it could be the name of another group.
 */
function readGroup(cursor: JsonCursor): string {
  const type = cursor.type();
  if (type === 'null') {
    cursor.skipValue();
    return QUEUE_MODE_GROUP;
  }
  if (type !== 'string') throw badBody('consumerGroup must be a string or null');
  cursor.readString();
  const group = cursor.text();
  const flaw = textFlaw(group);
  if (flaw) throw badBody(`consumerGroup must not contain ${flaw}`);
  return group === '' ? QUEUE_MODE_GROUP : group;
}
