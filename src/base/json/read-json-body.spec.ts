import { describe, expect, it } from '@jest/globals';
import { BrokerError } from '../errors/broker-error.js';
import { readJsonBody } from './read-json-body.js';

const sliceBody = (text: string) => readJsonBody(Buffer.from(text), (cursor) => cursor.slice().toString());

describe('readJsonBody', () => {
  it('returns what the reader made of the body', () => {
    expect(sliceBody(' {"a":1} \n')).toBe('{"a":1}');
  });

  it.each([
    ['', 'bad body: the body is empty'],
    ['{', 'bad body: not JSON: expected a key at byte 1'],
    ['{} {}', 'bad body: not JSON: expected the end of the text at byte 3'],
  ])('answers %j with bad_body', (text, message) => {
    expect(() => sliceBody(text)).toThrow(
      expect.objectContaining({ code: 'bad_body', status: 400, message }),
    );
  });

  it('passes on every other error as it is', () => {
    expect(() => sliceBody('['.repeat(600))).toThrow(expect.objectContaining({ code: 'json_too_deep' }));
    const fault = new BrokerError('bad_option', 'no');
    expect(() =>
      readJsonBody(Buffer.from('1'), () => {
        throw fault;
      }),
    ).toThrow(fault);
  });
});
