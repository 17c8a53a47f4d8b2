import { describe, expect, it } from '@jest/globals';
import { BrokerError } from '../base/errors/broker-error.js';
import { parseSeekBody, parseSubscriptionBody } from './groups.request.js';

const bytes = (body: unknown) => Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
const ofQueue = (body: unknown) => parseSeekBody(bytes(body), false);
const ofPartition = (body: unknown) => parseSeekBody(bytes(body), true);

function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof BrokerError) return error.code;
    throw error;
  }
  throw new Error('the body was taken');
}

const toEnd = { toEnd: true, timestamp: null, dryRun: false };

describe('where a seek goes', () => {
  it('is the end or a time, which becomes UTC', () => {
    expect(ofQueue({ toEnd: true })).toEqual(toEnd);
    expect(ofQueue({ timestamp: '2026-01-02T03:04:05.123456+02:00', toEnd: false, x: 1 })).toEqual({
      ...{ toEnd: false, timestamp: '2026-01-02T01:04:05.123456Z', dryRun: false },
    });
    expect(ofQueue({ timestamp: '2026-01-02', toEnd: null }).timestamp).toBe('2026-01-02T00:00:00.000000Z');
  });

  it('is the end for a partition whose body does not say', () => {
    for (const body of ['', {}, { toEnd: null, timestamp: null }, { timestamp: '' }])
      expect(ofPartition(body)).toEqual(toEnd);
    expect(ofPartition({ dryRun: true })).toEqual({ ...toEnd, dryRun: true });
    expect(codeOf(() => ofPartition({ toEnd: false }))).toBe('bad_body');
  });

  it.each(['', {}, { toEnd: false }, { toEnd: null }, { timestamp: '' }])(
    'must be said for a queue: %j',
    (body) => {
      expect(codeOf(() => ofQueue(body))).toBe('bad_body');
    },
  );

  it.each([
    ...['0000-06-01', '0001-01-01T00:00:00+05:00', '9999-12-31T23:59:59-05:00', '10000-01-01'],
    ...['now', 'today', '-infinity', '2026-02-30', `2026${'0'.repeat(200)}`],
  ])('is refused when PostgreSQL would not know the time: %s', (timestamp) => {
    expect(codeOf(() => ofQueue({ timestamp }))).toBe('bad_timestamp');
  });

  it('is refused in the wrong type, or twice', () => {
    for (const body of [
      { toEnd: 1 },
      { timestamp: 1 },
      { dryRun: 'true', toEnd: true },
      [],
      'x',
      '{"toEnd":true',
    ])
      expect(codeOf(() => ofQueue(body))).toBe('bad_body');
    expect(codeOf(() => ofQueue({ toEnd: true, timestamp: '2026-01-01' }))).toBe('bad_body');
    expect(codeOf(() => ofQueue(`{"toEnd":${'['.repeat(600)}${']'.repeat(600)}}`))).toBe('json_too_deep');
  });
});

describe('a subscription time', () => {
  it('is kept as it was sent beside what it means', () => {
    expect(parseSubscriptionBody(bytes({ subscriptionTimestamp: '2026-01-02 03:04' }))).toEqual({
      ...{ timestamp: '2026-01-02T03:04:00.000000Z', asSent: '2026-01-02 03:04' },
    });
  });

  it('is required, and must be a time', () => {
    const code = (body: unknown) => codeOf(() => parseSubscriptionBody(bytes(body)));
    for (const body of ['', {}, { subscriptionTimestamp: null }, { subscriptionTimestamp: 7 }, []])
      expect(code(body)).toBe('bad_body');
    expect(code({ subscriptionTimestamp: 'soon' })).toBe('bad_timestamp');
  });
});
