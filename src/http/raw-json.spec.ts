import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { RawJson, renderJson } from './raw-json.js';

it('puts raw text in place, byte for byte', () => {
  const raw = new RawJson('{"b": 1.0, "a":12345678901234567890, "a":2}');
  expect(renderJson({ id: 'x', data: raw, list: [raw, 1], none: undefined })).toBe(
    `{"id":"x","data":${raw.text},"list":[${raw.text},1]}`,
  );
});

it('is JSON.stringify for everything else', () => {
  fc.assert(fc.property(fc.jsonValue(), (value) => expect(renderJson(value)).toBe(JSON.stringify(value))));
});

it('leaves out what is undefined, and writes null for it in a list', () => {
  expect(renderJson({ a: undefined, b: [undefined, null] })).toBe('{"b":[null,null]}');
});
