import { describe, expect, it } from '@jest/globals';
import { parseEnvironment } from '../base/config/environment.js';
import { maskWith, secretsOf } from './secret-mask.js';

const KEY = 'ab'.repeat(32);

describe('secrets of a configuration', () => {
  it('are those that were set, with the password inside an address in both its spellings', () => {
    const url = 'postgres://keeper:p%40ss%20word@db/queen';
    const secrets = secretsOf(parseEnvironment({ DATABASE_URL: url, QUEEN_ENCRYPTION_KEY: KEY }));
    expect(secrets).toEqual(expect.arrayContaining([url, KEY, 'p%40ss%20word', 'p@ss word']));
  });

  it('are not the defaults: "postgres" is an ordinary word', () => {
    expect(secretsOf(parseEnvironment({ PG_HOST: 'db' }))).toEqual([]);
    expect(secretsOf(parseEnvironment({ PG_PASSWORD: 'postgres' }))).toEqual([]);
  });
});

describe('a mask', () => {
  it('covers a secret wherever it stands, the longer one first', () => {
    const mask = maskWith(['opensesame', 'opensesame-and-more']);
    expect(mask('a opensesame b opensesame-and-more c')).toBe('a [redacted] b [redacted] c');
  });

  it('covers a secret that JSON has escaped', () => {
    const secret = 'quo"te\\back';
    const line = JSON.stringify({ msg: `failed with ${secret}` });
    expect(maskWith([secret])(line)).toBe('{"msg":"failed with [redacted]"}');
  });

  it('leaves other lines as they are', () => {
    expect(maskWith(['opensesame'])('listening on 127.0.0.1:6632')).toBe('listening on 127.0.0.1:6632');
  });
});
