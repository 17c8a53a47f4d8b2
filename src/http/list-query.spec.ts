import { describe, expect, it } from '@jest/globals';
import { ListQuery } from './list-query.js';

const limits = { default: 100, min: 1, max: 1000 };
const query = (text: string) => new ListQuery(`/api/v1/list${text}`);

describe('a number', () => {
  it.each([
    ['', 100],
    ['?limit=', 100],
    ['?limit=7', 7],
    ['?limit=0', 1],
    ['?limit=-1', 1],
    ['?limit=1001', 1000],
    ['?limit=2147483648', 1000],
    ['?limit=007', 7],
    ['?%6cimit=7', 7],
  ])('%j reads as %d', (text, value) => {
    expect(query(text).integer('limit', limits)).toBe(value);
  });

  it.each(['1.5', 'NaN', 'Infinity', '1e9', '0x10', '10abc', '%20', '9007199254740993', '+1', '1_0'])(
    '%s is refused by name',
    (value) => {
      expect(() => query(`?limit=${value}`).integer('limit', limits)).toThrow('limit must be an integer');
    },
  );
});

describe('a boolean', () => {
  it.each([
    ...['true', '1', 'yes', 'TRUE'].map((text) => [text, true] as const),
    ...['false', '0', 'no', 'No'].map((text) => [text, false] as const),
  ])('%s is %s', (text, value) => {
    expect(query(`?all=${text}`).boolean('all', !value)).toBe(value);
  });

  it('has a default, and anything else is refused', () => {
    expect(query('').boolean('all', true)).toBe(true);
    expect(() => query('?all=maybe').boolean('all', true)).toThrow('all must be true or false');
  });
});

describe('a text', () => {
  it('comes decoded, and an empty one counts as absent', () => {
    expect(query('?queue=a%2Fb+c').text('queue')).toBe('a/b c');
    expect(query('?queue=').text('queue')).toBeNull();
    expect(query('').text('queue')).toBeNull();
  });

  it('has the first of its names that has a value', () => {
    expect(query('?ns=b').text('namespace', 'ns')).toBe('b');
    expect(query('?ns=b&namespace=a').text('namespace', 'ns')).toBe('a');
  });

  it('that no database could hold is refused', () => {
    expect(() => query('?queue=%00').text('queue')).toThrow('queue must not contain U+0000');
  });

  it('of a closed set is one of it', () => {
    expect(query('?status=b').oneOf('status', ['a', 'b'])).toBe('b');
    expect(() => query('?status=c').oneOf('status', ['a', 'b'])).toThrow('status must be one of a, b');
  });
});

it('a time is microseconds, and refused when it is none', () => {
  expect(query('?from=2026-08-05T10:11:12.123456%2B02:00').instant('from')).toBe(1785917472123456);
  expect(query('?from=2026-08-05T10:11:12.123456+02:00').instant('from')).toBe(1785917472123456);
  expect(() => query('?from=now').instant('from')).toThrow('from must be an ISO 8601 time');
});

it('a parameter given twice is refused', () => {
  expect(() => query('?limit=1&limit=2')).toThrow('limit is given more than once');
  expect(() => query('?limit=1&limit=')).toThrow('limit is given more than once');
});

it('a route may refuse what it does not know', () => {
  expect(() => query('?queu=a').allowOnly(['queue'])).toThrow('"queu" is no parameter of this route');
  expect(() => query('?queue[]=a').allowOnly(['queue'])).toThrow('"queue[]" is no parameter');
  expect(query('?queue=a').allowOnly(['queue']).text('queue')).toBe('a');
});
