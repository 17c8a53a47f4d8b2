import { describe, expect, it } from '@jest/globals';
import { parseExtendBody } from './lease.request.js';

describe('parseExtendBody', () => {
  it.each([
    ['{"seconds":30}', 30],
    ['{"seconds":1}', 1],
    ['{"seconds":0}', 1],
    ['{"seconds":-5}', 1],
    ['{"seconds":1e3}', 1000],
    ['{"seconds":99999999999}', 604_800],
  ])('%s asks for %i seconds', (body, seconds) => {
    expect(parseExtendBody(Buffer.from(body))).toBe(seconds);
  });

  it.each([
    '',
    '{}',
    'null',
    '7',
    '[]',
    '"x"',
    '{"seconds":null}',
    '{"seconds":"30"}',
    '{"seconds":1.5}',
    '{',
    '\xff',
  ])('%j asks for nothing in particular: 60', (body) => {
    expect(parseExtendBody(Buffer.from(body, 'latin1'))).toBe(60);
  });

  it('does not parse a body that cannot be one', () => {
    expect(parseExtendBody(Buffer.from(`{"seconds":5,"x":"${'x'.repeat(5000)}"}`))).toBe(60);
  });
});
