import { describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { ManualClock } from '../base/clock/manual-clock.js';
import { parseEnvironment } from '../base/config/environment.js';
import { PayloadCipher } from './payload-cipher.js';

const HEX = '0123456789abcdefABCDEF0123456789'.repeat(2);
const clock = new ManualClock();
const cipherWith = (key?: string) =>
  new PayloadCipher(parseEnvironment({ QUEEN_ENCRYPTION_KEY: key }), clock);

const PAYLOAD = Buffer.from('{"n": 1.0}');

describe('with a key', () => {
  const cipher = cipherWith(HEX);

  it('what is sealed opens, marked or not', () => {
    const envelope = cipher.seal(PAYLOAD);
    expect(envelope.includes('1.0')).toBe(false);
    for (const isMarked of [true, false]) {
      expect(cipher.open(envelope, isMarked)).toEqual(PAYLOAD);
      expect(cipher.openText(envelope.toString(), isMarked)).toBe('{"n": 1.0}');
    }
  });

  it('nothing in an envelope is null', () => {
    expect(cipher.open(cipher.seal(Buffer.alloc(0)), true)?.toString()).toBe('null');
  });

  it('a payload that only looks like an envelope is what it is, and no failure', () => {
    const foreign = cipherWith('f'.repeat(64)).seal(PAYLOAD);
    for (const payload of [PAYLOAD, foreign, Buffer.from('{"encrypted":"yes"}')]) {
      expect(cipher.open(payload, false)).toBeNull();
    }
    expect(cipher.failures).toBe(0);
  });

  it('an envelope of another key is served as it is, with a line now and then', () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    const foreign = cipherWith('f'.repeat(64)).seal(PAYLOAD);
    const opened = [1, 2, 3].map(() => cipher.open(foreign, true));
    expect(opened).toEqual([null, null, null]);
    expect([cipher.failures, warn.mock.calls.length]).toEqual([3, 1]);
    clock.advance(60_000);
    cipher.open(foreign, true);
    expect(warn.mock.calls.at(-1)).toEqual([expect.stringContaining('4 encrypted payloads')]);
    expect(JSON.stringify(warn.mock.calls)).not.toContain(HEX);
    warn.mockRestore();
  });
});

describe('without a key', () => {
  const cipher = cipherWith();

  it('nothing opens', () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    const envelope = cipherWith(HEX).seal(PAYLOAD);
    expect([cipher.hasKey, cipher.open(envelope, true), cipher.open(envelope, false)]).toEqual([
      false,
      null,
      null,
    ]);
    expect(cipher.openText(envelope.toString(), true)).toBeNull();
    expect(warn.mock.calls).toEqual([[expect.stringContaining('QUEEN_ENCRYPTION_KEY is not set')]]);
    warn.mockRestore();
  });

  it('to seal is a mistake of the caller', () => {
    expect(() => cipher.seal(PAYLOAD)).toThrow('no key');
  });
});

it.each(['x', HEX.slice(1), `${HEX}0`, 'g'.repeat(64)])('a key that is none stops the boot: %s', (key) => {
  let fault: Error | null = null;
  try {
    cipherWith(key);
  } catch (error) {
    fault = error as Error;
  }
  expect(fault?.message).toContain('QUEEN_ENCRYPTION_KEY must be 64 hex digits');
  expect(fault?.message).not.toContain(`"${key}"`);
});
