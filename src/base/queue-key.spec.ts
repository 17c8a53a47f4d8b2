import { describe, expect, it } from '@jest/globals';
import { queueKey, splitQueueKey } from './queue-key.js';

describe('queueKey', () => {
  it('joins tenant and queue by U+001F', () => {
    expect(queueKey('t', 'orders')).toBe('t\u001forders');
  });

  it('is undone by splitQueueKey, also for queue names that hold the separator', () => {
    for (const queue of ['orders', 'a\u001fb', '', '\u001f']) {
      expect(splitQueueKey(queueKey('t', queue))).toEqual({ tenant: 't', queue });
    }
  });
});
