import { expect, it } from '@jest/globals';
import { bearerToken } from './bearer-token.js';

it.each<[string | undefined, string | null]>([
  [undefined, null],
  ['', null],
  ['Bearer', null],
  ['Bearer ', null],
  ['bearer a.b.c', 'a.b.c'],
  ['BEARER  a.b.c ', 'a.b.c'],
  ['a.b.c', 'a.b.c'],
  ['bearera.b.c', 'bearera.b.c'],
  ['Basic dXNlcjpwYXNz', 'Basic dXNlcjpwYXNz'],
])('%j', (header, token) => {
  expect(bearerToken(header)).toBe(token);
});
