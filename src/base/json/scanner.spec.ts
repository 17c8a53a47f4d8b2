import { describe, expect, it } from '@jest/globals';
import { BrokerError } from '../errors/broker-error.js';
import { JsonSyntaxError } from './json-syntax-error.js';
import { JsonCursor, MAX_JSON_DEPTH } from './scanner.js';

const cursorOf = (text: string) => new JsonCursor(Buffer.from(text));

/** The slice of the one value in `text`, which may have whitespace around it. */
function sliceOf(text: string): string {
  const cursor = cursorOf(text);
  const slice = cursor.slice();
  cursor.expectEnd();
  return slice.toString();
}

function errorOf(read: () => unknown): unknown {
  try {
    read();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

describe('JsonCursor', () => {
  it.each([
    ['a number beyond 2^53', '9007199254740993'],
    ['minus zero', '-0'],
    ['a number beyond a double', '1e400'],
    ['a trailing zero', '1.0'],
    ['a repeated key', '{"a":1,"a":2}'],
    ['inner whitespace', '{ "a" : [ 1 ,\n\t2 ] }'],
    ['an escape', '"\\u0061\\/"'],
    ['a lone surrogate', '"\\ud83d"'],
    ['an empty object', '{}'],
    ['an empty array', '[]'],
    ['a word', 'true'],
    ['a key named __proto__', '{"__proto__":{"x":1},"constructor":null}'],
  ])('gives back %s byte for byte', (_what, text) => {
    expect(sliceOf(text)).toBe(text);
    expect(sliceOf(` \r\n\t${text}\n `)).toBe(text);
  });

  it.each([
    ['', 0],
    ['   ', 3],
    ['\ufeff1', 0],
    ['{"a":1', 6],
    ['[1,]', 3],
    ['{"a":1,}', 7],
    ['[1 2]', 3],
    ['01', 1],
    ['1.', 2],
    ['-', 1],
    ['1e+', 3],
    ['"a', 2],
    ['"a\nb"', 2],
    ['"\\x"', 2],
    ['"\\u12g4"', 5],
    ['tru', 0],
    ['{"a" 1}', 5],
    ['{a:1}', 1],
    ['[}', 1],
    ['[1}', 2],
    ['NaN', 0],
    ['1 x', 2],
  ])('refuses %j at byte %d', (text, offset) => {
    const error = errorOf(() => sliceOf(text));
    expect(error).toBeInstanceOf(JsonSyntaxError);
    expect(error).toMatchObject({ offset });
  });

  it('refuses bytes that are not UTF-8, surrogates included', () => {
    for (const bytes of [
      [0x22, 0xff, 0x22],
      [0x22, 0xed, 0xa0, 0x80, 0x22],
      [0x22, 0xc3],
    ]) {
      expect(() => new JsonCursor(Buffer.from(bytes))).toThrow(JsonSyntaxError);
    }
  });

  it('says where the fault is and nothing of the text', () => {
    const error = errorOf(() => sliceOf('{"password":"hunter2" "x"}'));
    expect(error).toMatchObject({ message: "expected ',' or '}' at byte 22" });
  });

  describe('depth', () => {
    const nested = (open: string, close: string, levels: number) =>
      open.repeat(levels) + close.repeat(levels);

    it('takes a value of exactly the limit, whatever it is wrapped in', () => {
      const value = nested('[', ']', MAX_JSON_DEPTH);
      expect(sliceOf(value)).toBe(value);

      const cursor = cursorOf(`[[${value}]]`);
      cursor.enterArray();
      cursor.enterArray();
      expect(cursor.slice().toString()).toBe(value);
    });

    it.each([
      ['arrays', nested('[', ']', MAX_JSON_DEPTH + 1)],
      ['objects', `${'{"a":'.repeat(MAX_JSON_DEPTH + 1)}1${'}'.repeat(MAX_JSON_DEPTH + 1)}`],
      ['a million levels', nested('[', ']', 1_000_000)],
      ['a million opening brackets', '['.repeat(1_000_000)],
    ])('refuses %s beyond it with a code of its own', (_what, text) => {
      const error = errorOf(() => sliceOf(text));
      expect(error).toBeInstanceOf(BrokerError);
      expect(error).toMatchObject({ code: 'json_too_deep', status: 400 });
    });

    it('counts levels, not brackets', () => {
      const wide = `[${Array(10_000).fill('[[]]').join(',')}]`;
      expect(sliceOf(wide)).toBe(wide);
    });
  });

  describe('walking', () => {
    it('steps through members, keys as tokens and values as slices', () => {
      const cursor = cursorOf(' { "a" : [1, 2] , "b\\u0062" : "x" } ');
      const seen: [string, string][] = [];
      for (let more = cursor.enterObject(); more; more = cursor.nextMember()) {
        seen.push([cursor.text(), cursor.slice().toString()]);
      }
      cursor.expectEnd();
      expect(seen).toEqual([
        ['a', '[1, 2]'],
        ['bb', '"x"'],
      ]);
    });

    it('steps through elements and knows their types', () => {
      const cursor = cursorOf('[{}, [], "s", -1, 0, true, false, null]');
      const types: string[] = [];
      for (let more = cursor.enterArray(); more; more = cursor.nextElement()) {
        types.push(cursor.type());
        cursor.skipValue();
      }
      cursor.expectEnd();
      expect(types).toEqual(['object', 'array', 'string', 'number', 'number', 'boolean', 'boolean', 'null']);
    });

    it('has no steps in empty containers', () => {
      const cursor = cursorOf('[{ }, [ ]]');
      cursor.enterArray();
      expect(cursor.enterObject()).toBe(false);
      cursor.nextElement();
      expect(cursor.enterArray()).toBe(false);
      expect(cursor.nextElement()).toBe(false);
      expect(cursor.type()).toBe('none');
      cursor.expectEnd();
    });

    it.each([
      ['{"a":1]', (cursor: JsonCursor) => cursor.enterObject() && cursor.skipValue() && cursor.nextMember()],
      ['[1}', (cursor: JsonCursor) => cursor.enterArray() && cursor.skipValue() && cursor.nextElement()],
      ['1', (cursor: JsonCursor) => cursor.enterObject()],
      ['1', (cursor: JsonCursor) => cursor.enterArray()],
      ['1', (cursor: JsonCursor) => cursor.readString()],
    ])('refuses a wrong turn in %j', (text, walk) => {
      expect(() => walk(cursorOf(text))).toThrow(JsonSyntaxError);
    });
  });

  describe('tokens', () => {
    const tokenOf = (text: string) => {
      const cursor = cursorOf(text);
      cursor.readString();
      return cursor;
    };

    it.each([
      '""',
      '"plain"',
      '"é 😀 \u2028"',
      '"\\"\\\\\\/\\b\\f\\n\\r\\t"',
      '"\\u0000"',
      '"\\ud83d\\ude00"',
      '"\\ud83d"',
    ])('reads %s as JSON.parse does', (text) => expect(tokenOf(text).text()).toBe(JSON.parse(text)));

    it('recognises a name however it is escaped, and no other', () => {
      const name = Buffer.from('queue');
      for (const text of ['"queue"', '"qu\\u0065ue"', '"\\u0071\\u0075\\u0065\\u0075\\u0065"']) {
        expect(tokenOf(text).tokenIs(name)).toBe(true);
      }
      for (const text of ['"Queue"', '"queu"', '"queue1"', '""', '"queu\\u0000"', '"__proto__"']) {
        expect(tokenOf(text).tokenIs(name)).toBe(false);
      }
    });
  });
});
