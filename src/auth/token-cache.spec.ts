import { expect, it } from '@jest/globals';
import type { Identity } from './identity.js';
import { TokenCache } from './token-cache.js';

const until = (expiresAtMs: number): Identity => ({
  subject: null,
  grants: new Set(),
  tenant: null,
  expiresAtMs,
});

it('knows a token until it expires, and forgets it then', () => {
  const cache = new TokenCache();
  cache.set('t', until(100));
  expect(cache.get('t', 99)).toEqual(until(100));
  expect(cache.get('t', 100)).toBeNull();
  expect(cache.size).toBe(0);
  expect(cache.get('other', 0)).toBeNull();
});

it('holds so many tokens, and lets the oldest go', () => {
  const cache = new TokenCache(3);
  for (const token of ['a', 'b', 'c', 'a', 'd']) cache.set(token, until(1));
  expect(['a', 'b', 'c', 'd'].filter((token) => cache.get(token, 0))).toEqual(['a', 'c', 'd']);
});

it('holds so many characters, whatever the number', () => {
  const cache = new TokenCache(1000, 100);
  for (let i = 0; i < 50; i++) cache.set(String(i).padStart(10, '0'), until(1));
  expect(cache.size).toBe(10);
  cache.set('x'.repeat(101), until(1));
  expect(cache.size).toBe(0);
  cache.set('x'.repeat(100), until(1));
  expect(cache.size).toBe(1);
});

it('counts what has left', () => {
  const cache = new TokenCache(1000, 10);
  for (let round = 0; round < 5; round++) {
    cache.set('12345', until(round));
    cache.get('12345', round);
  }
  cache.set('abcde', until(9));
  cache.set('fghij', until(9));
  expect(cache.size).toBe(2);
  cache.clear();
  cache.set('1234567890', until(9));
  expect(cache.size).toBe(1);
});
