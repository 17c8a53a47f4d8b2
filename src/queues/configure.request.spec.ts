import { describe, expect, it } from '@jest/globals';
import { BrokerError } from '../base/errors/broker-error.js';
import { parseConfigureBody } from './configure.request.js';

function parse(body: unknown) {
  return parseConfigureBody(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)));
}

function refusalOf(body: unknown): { code: string; message: string } {
  try {
    parse(body);
  } catch (error) {
    if (error instanceof BrokerError) return { code: error.code, message: error.message };
    throw error;
  }
  throw new Error('the body was accepted');
}

describe('parseConfigureBody', () => {
  it('takes the options object', () => {
    expect(parse({ queue: 'orders', options: { leaseTime: 30, retentionEnabled: true } })).toEqual({
      queue: 'orders',
      options: { leaseTime: 30, retentionEnabled: true },
    });
  });

  it('takes what stands beside the queue when there is no options object', () => {
    const expected = { queue: 'orders', options: { leaseTime: 30, mode: 'replace' } };
    expect(parse({ queue: 'orders', leaseTime: 30, mode: 'replace' })).toEqual(expected);
    expect(parse({ queue: 'orders', leaseTime: 30, mode: 'replace', options: null })).toEqual(expected);
  });

  it('leaves what stands beside an options object alone', () => {
    expect(parse({ queue: 'q', leaseTime: 30, options: {} }).options).toEqual({});
  });

  it.each([
    [
      { queue: 'q', namespace: 'n', task: 't' },
      { namespace: 'n', task: 't' },
    ],
    [
      { queue: 'q', namespace: 'n', task: 't', options: {} },
      { namespace: 'n', task: 't' },
    ],
    [{ queue: 'q', namespace: 'n', options: { namespace: 'inner' } }, { namespace: 'inner' }],
    [{ queue: 'q', namespace: 'n', options: { namespace: '' } }, { namespace: '' }],
    [{ queue: 'q', namespace: 'n', options: { namespace: null } }, { namespace: 'n' }],
    [{ queue: 'q', namespace: '', task: null, options: { leaseTime: 5 } }, { leaseTime: 5 }],
  ])('labels of %j', (body, options) => {
    expect(parse(body).options).toEqual(options);
  });

  it('takes null for not set', () => {
    expect(parse({ queue: 'q', options: { leaseTime: null, windowBuffer: 0 } }).options).toEqual({
      windowBuffer: 0,
    });
  });

  it.each([{}, { queue: null }, { queue: 7 }, { queue: ['q'] }, { options: {} }])(
    'refuses %j: a queue is required',
    (body) => {
      expect(refusalOf(body)).toEqual({ code: 'queue_required', message: 'queue is required' });
    },
  );

  it.each(['', 'not json', '[]', '"q"', 'null', '{"queue":"q"} x', '{"queue":'])(
    'refuses %j as a body',
    (body) => {
      expect(refusalOf(body).code).toBe('bad_body');
    },
  );

  it('refuses a body that nests too deep', () => {
    expect(refusalOf(`{"queue":"q","x":${'['.repeat(600)}${']'.repeat(600)}}`).code).toBe('json_too_deep');
  });

  it.each([
    { queue: '' },
    { queue: '..' },
    { queue: 'a\0b' },
    { queue: 'x'.repeat(256) },
    { queue: 'q', namespace: 'n'.repeat(256) },
    { queue: 'q', options: { task: '\ud800' } },
  ])('refuses a name that no route could address', (body) => {
    expect(refusalOf(body).code).toBe('bad_name');
  });

  it.each([
    ['{"queue":"q","options":[]}', 'options'],
    ['{"queue":"q","options":"x"}', 'options'],
    ['{"queue":"q","namespace":7}', 'namespace'],
    ['{"queue":"q","leaseTime":[30]}', 'leaseTime'],
    ['{"queue":"q","options":{"leaseTime":{"a":1}}}', 'leaseTime'],
    ['{"queue":"q","options":{"leaseTime":1e400}}', 'leaseTime'],
    ['{"queue":"q","options":{"mode":"a\\u0000"}}', 'mode'],
    ['{"queue":"q","options":{"a\\u0000":1}}', 'U+0000'],
  ])('refuses %s, naming the option', (body, name) => {
    const { code, message } = refusalOf(body);
    expect(code).toBe('bad_option');
    expect(message).toContain(name);
  });

  it('keeps a key called __proto__ a key, for the database to refuse', () => {
    const { options } = parse('{"queue":"q","options":{"__proto__":1,"constructor":2}}');
    expect(JSON.stringify(options)).toBe('{"__proto__":1,"constructor":2}');
  });
});
