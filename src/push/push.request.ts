import type { BodySlices } from '../base/json/body-slices.js';
import { badBody, readJsonBodyAtOnce, readJsonBodyInSlices } from '../base/json/read-json-body.js';
import { BrokerError } from '../base/errors/broker-error.js';
import { PushItemReader, type PushItem } from './push-item.js';

export interface PushRequest {
  /** In the order of the body; the reply has one result for each. */
  items: PushItem[];
}

/** A body of the smallest items can hold millions, and each costs memory many times its bytes. */
export const MAX_PUSH_ITEMS = 250_000;

interface BadItem {
  index: number;
  error: string;
}

const ITEMS = Buffer.from('items');

/**
 * `{"items":[…]}` → PushRequest. Every payload is a slice of `body`, which must therefore stay as it is.
 *
 * An item that cannot be stored (rules in push-item.ts) carries its `problem` and does not sink the others. Throws
 * BrokerError, and then nothing may be stored:
 * `bad_body` for what is not JSON, has no `items`, or has items of the wrong shape; the latter are listed, all of them, as
 * `items: [{index, error}]` beside the error. `json_too_deep` beyond MAX_JSON_DEPTH. `body_too_large` beyond MAX_PUSH_ITEMS.
 */
export function parsePushBody(body: Buffer): PushRequest {
  return readJsonBodyAtOnce(body, readPush);
}

/**
 * The same with a turn of the event loop after each slice of a large body (SLICE_BYTES); a small one is read at once, and
 * the result is no promise.
 * @param sliceBytes for specs
 */
export function parsePushBodyInSlices(body: Buffer, sliceBytes?: number): PushRequest | Promise<PushRequest> {
  return readJsonBodyInSlices(body, readPush, sliceBytes);
}

function* readPush(slices: BodySlices): Generator<void, PushRequest> {
  const list = yield* readEnvelope(slices);
  // Shapes are judged after the whole body has turned out to be JSON: a list of bad items from half a body would mislead.
  slices.cursor.expectEnd();
  const { items, badItems } = list;
  if (badItems.length === 0) return { items };
  const [first] = badItems;
  const others = badItems.length === 1 ? '' : ` (and ${badItems.length - 1} more, see items)`;
  throw badBody(`item ${first.index}: ${first.error}${others}`, { items: badItems });
}

function* readEnvelope(slices: BodySlices): Generator<void, ItemList> {
  const { cursor } = slices;
  if (cursor.type() !== 'object') throw badBody('expected an object with items');
  let found: 'nothing' | 'no array' | ItemList = 'nothing';
  let more = yield* slices.step(() => cursor.enterObject());
  while (more) {
    if (!cursor.tokenIs(ITEMS)) {
      yield* slices.step(() => cursor.skipValue());
    } else if (cursor.type() === 'array') {
      found = yield* readItems(slices); // the last one wins, as with JSON.parse
    } else {
      yield* slices.step(() => cursor.skipValue());
      found = 'no array';
    }
    more = yield* slices.step(() => cursor.nextMember());
  }
  if (found === 'nothing') throw badBody('items is required');
  if (found === 'no array') throw badBody('items must be an array');
  return found;
}

function* readItems(slices: BodySlices): Generator<void, ItemList> {
  const reader = new PushItemReader(slices.cursor);
  const list = new ItemList();
  yield* slices.elements(
    () => reader.read(),
    (item) => list.add(item),
  );
  return list;
}

/** The items so far; those of the wrong shape apart. */
class ItemList {
  readonly items: PushItem[] = [];
  readonly badItems: BadItem[] = [];

  add(item: PushItem | string): void {
    if (this.size === MAX_PUSH_ITEMS)
      throw new BrokerError('body_too_large', `a push holds at most ${MAX_PUSH_ITEMS} items`);
    if (typeof item === 'string') this.badItems.push({ index: this.size, error: item });
    else this.items.push(item);
  }

  private get size(): number {
    return this.items.length + this.badItems.length;
  }
}
