import { beforeEach, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import type { JWK } from 'jose';
import { keyPair, publicJwk } from '../../test/support/tokens.js';
import { ManualClock } from '../base/clock/manual-clock.js';
import { RemoteKeys } from './remote-keys.js';

const REFRESH_MS = 3_600_000;
const one = keyPair('rsa');
const two = keyPair('ed25519');

/** An issuer that publishes what the test says, and counts who asks. */
let published: JWK[] | Error;
let reads: number;
let changes: number;
let clock: ManualClock;
let keys: RemoteKeys;
let answer: Promise<void> | null;

beforeEach(() => {
  Logger.overrideLogger(false);
  [reads, changes, answer] = [0, 0, null];
  clock = new ManualClock();
  keys = new RemoteKeys(
    'https://issuer/keys?token=secret',
    REFRESH_MS,
    async () => {
      reads++;
      await answer;
      if (published instanceof Error) throw published;
      return { keys: published };
    },
    clock,
    () => changes++,
  );
});

const found = async (kid: string | undefined, alg = 'RS256') =>
  (await keys.keysFor({ alg, ...(kid === undefined ? {} : { kid }) })).length;
/** Lets a refresh that a timer began come to its end. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('with a set', () => {
  beforeEach(async () => {
    published = [await publicJwk(one, 'one'), await publicJwk(two, 'two')];
    await keys.start();
  });

  it('a key is found by its id, for its own algorithms only', async () => {
    expect(await found('one')).toBe(1);
    expect(await found('two', 'EdDSA')).toBe(1);
    expect(await found('two', 'RS256')).toBe(0);
    expect(await found('one', 'HS256')).toBe(0);
    expect(await found('one', 'none')).toBe(0);
  });

  it('a token without an id gets those that fit', async () => {
    expect(await found(undefined)).toBe(1);
    published = [await publicJwk(one, 'one'), await publicJwk(keyPair('rsa'), 'three')];
    clock.advance(REFRESH_MS);
    await settled();
    expect(await found(undefined)).toBe(2);
  });

  it('is read again in its period, and only then', async () => {
    clock.advance(REFRESH_MS - 1);
    expect(reads).toBe(1);
    clock.advance(1);
    await settled();
    expect([reads, changes]).toEqual([2, 1]);
    clock.advance(REFRESH_MS);
    await settled();
    expect(reads).toBe(3);
  });

  it('an unknown id makes it look again, once in ten seconds whoever asks', async () => {
    clock.advance(10_000);
    expect(await Promise.all(['new', 'new', 'x', 'y'].map((kid) => found(kid)))).toEqual([0, 0, 0, 0]);
    expect(reads).toBe(2);
    published = [await publicJwk(one, 'new')];
    clock.advance(9_999);
    expect(await found('new')).toBe(0);
    expect(reads).toBe(2);
    clock.advance(1);
    expect(await found('new')).toBe(1);
    expect([reads, changes]).toEqual([3, 2]);
  });

  it('an id that is known costs no look', async () => {
    clock.advance(60_000);
    await found('one');
    expect(reads).toBe(1);
  });

  it('a key that was withdrawn is gone with the next reading', async () => {
    published = [await publicJwk(two, 'two')];
    clock.advance(REFRESH_MS);
    await settled();
    expect(await found('one')).toBe(0);
    expect(changes).toBe(2);
  });

  it('the last one stays in force while there is no other, which is tried for more often', async () => {
    published = new Error('away');
    clock.advance(REFRESH_MS);
    await settled();
    expect(await found('one')).toBe(1);
    expect(changes).toBe(1);
    for (let attempt = 0; attempt < 12; attempt++) {
      clock.advance(60_000);
      await settled();
    }
    expect(reads).toBeGreaterThan(10);
    expect(await found('one')).toBe(1);
  });

  it('is not read any more once it is stopped', async () => {
    keys.stop();
    expect(clock.pendingTimers).toBe(0);
    clock.advance(2 * REFRESH_MS);
    expect(reads).toBe(1);
  });
});

describe('without a set', () => {
  beforeEach(() => {
    published = new Error('connect ECONNREFUSED');
  });

  it('starts all the same, cannot tell, and goes on trying', async () => {
    await keys.start();
    await expect(keys.keysFor({ alg: 'RS256', kid: 'one' })).rejects.toMatchObject({
      code: 'keys_unavailable',
      status: 503,
    });
    published = [await publicJwk(one, 'one')];
    clock.advance(1_000);
    await settled();
    expect(await found('one')).toBe(1);
  });

  it('waits longer from failure to failure', async () => {
    await keys.start();
    const waits: number[] = [];
    for (let i = 0; i < 8; i++) {
      const before = reads;
      let waited = 0;
      while (reads === before) {
        clock.advance(1_000);
        waited++;
        await settled();
      }
      waits.push(waited);
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
  });

  it('who comes while it is being read waits for it', async () => {
    published = [await publicJwk(one, 'one')];
    let give = () => {};
    answer = new Promise((resolve) => (give = resolve));
    const started = keys.start();
    const asked = found('one');
    give();
    await started;
    expect(await asked).toBe(1);
    expect(reads).toBe(1);
  });

  it('a key that nobody can use is none', async () => {
    published = [
      { kty: 'RSA', kid: 'one', n: 'AQAB', e: 'AQAB' },
      { kty: 'oct', kid: 'two', k: 'c2VjcmV0' },
    ];
    await keys.start();
    expect(await found('two', 'HS256')).toBe(0);
    expect(await found('two')).toBe(0);
    expect(await found(undefined, 'EdDSA')).toBe(0);
  });
});

it('the log tells where the set is, without the query', async () => {
  const lines: string[] = [];
  const keep = (line: unknown) => void lines.push(String(line));
  Logger.overrideLogger({ log: keep, warn: keep, error: keep });
  published = new Error('connect ECONNREFUSED');
  for (let attempt = 0; attempt < 20; attempt++) {
    await keys.start();
    clock.advance(60_000);
    await settled();
  }
  expect(lines[0]).toBe(
    'the key set at https://issuer/keys cannot be read: connect ECONNREFUSED; no token can be verified',
  );
  expect(lines.length).toBeLessThan(10);
});
