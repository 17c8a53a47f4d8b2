import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { RepeatedText } from './repeated-text.js';
import { JsonCursor } from './scanner.js';

/** All strings of a JSON array, read through one RepeatedText. */
function readAll(json: string): string[] {
  const cursor = new JsonCursor(Buffer.from(json));
  const texts = new RepeatedText();
  const read: string[] = [];
  for (let more = cursor.enterArray(); more; more = cursor.nextElement()) {
    cursor.readString();
    read.push(texts.of(cursor));
  }
  return read;
}

describe('RepeatedText', () => {
  it('never takes one text for another', () => {
    const word = fc.constantFrom('', 'a', 'b', 'aa', 'ab', 'é', '\0', '\n', 'x'.repeat(512), 'x'.repeat(513));
    fc.assert(
      fc.property(fc.array(word), (words) => {
        expect(readAll(JSON.stringify(words))).toEqual(words);
      }),
    );
  });

  it('tells an escape from the letters it is made of', () => {
    expect(readAll('["\\n","\\u000a","\\\\n","n"]')).toEqual(['\n', '\n', '\\n', 'n']);
  });
});
