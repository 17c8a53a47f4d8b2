import { describe, expect, it } from '@jest/globals';
import { connectionsFor, fileLimit } from './connection-limit.js';

describe('the file limit', () => {
  it('is the soft one of the process', () => {
    const limits = [
      'Limit                     Soft Limit           Hard Limit           Units',
      'Max processes             511                  511                  processes',
      'Max open files            1024                 524288               files',
    ];
    expect(fileLimit(() => limits.join('\n'))).toBe(1024);
  });

  it('is unknown where it is not told, or has no end', () => {
    expect(
      fileLimit(() => 'Max open files            unlimited            unlimited            files'),
    ).toBeNull();
    expect(
      fileLimit(() => {
        throw new Error('ENOENT');
      }),
    ).toBeNull();
  });
});

describe('the connections', () => {
  it('leave files to the database pool and to the broker itself', () => {
    expect(connectionsFor(1024, 48)).toBe(912);
  });

  it('are a few in any case', () => {
    expect(connectionsFor(64, 48)).toBe(16);
  });
});
