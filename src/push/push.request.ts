import { badBody, readJsonBody } from '../base/json/read-json-body.js';
import type { JsonCursor } from '../base/json/scanner.js';
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
  // Shapes are judged after the whole body has turned out to be JSON: a list of bad items from half a body would mislead.
  const { items, badItems } = readJsonBody(body, readEnvelope);
  if (badItems.length === 0) return { items };
  const [first] = badItems;
  const others = badItems.length === 1 ? '' : ` (and ${badItems.length - 1} more, see items)`;
  throw badBody(`item ${first.index}: ${first.error}${others}`, { items: badItems });
}

function readEnvelope(cursor: JsonCursor): PushRequest & { badItems: BadItem[] } {
  if (cursor.type() !== 'object') throw badBody('expected an object with items');
  let found: 'nothing' | 'no array' | (PushRequest & { badItems: BadItem[] }) = 'nothing';
  for (let more = cursor.enterObject(); more; more = cursor.nextMember()) {
    if (!cursor.tokenIs(ITEMS)) {
      cursor.skipValue();
    } else if (cursor.type() === 'array') {
      found = readItems(cursor); // the last one wins, as with JSON.parse
    } else {
      cursor.skipValue();
      found = 'no array';
    }
  }
  if (found === 'nothing') throw badBody('items is required');
  if (found === 'no array') throw badBody('items must be an array');
  return found;
}

function readItems(cursor: JsonCursor): PushRequest & { badItems: BadItem[] } {
  const reader = new PushItemReader(cursor);
  const items: PushItem[] = [];
  const badItems: BadItem[] = [];
  let index = 0;
  for (let more = cursor.enterArray(); more; more = cursor.nextElement(), index++) {
    if (index === MAX_PUSH_ITEMS)
      throw new BrokerError('body_too_large', `a push holds at most ${MAX_PUSH_ITEMS} items`);
    const item = reader.read();
    if (typeof item === 'string') badItems.push({ index, error: item });
    else items.push(item);
  }
  return { items, badItems };
}
