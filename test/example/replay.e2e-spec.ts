import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startBroker, type TestBroker } from '../support/broker.js';
import { replay } from './replay.mjs';

describe('real webhooks and bird strikes through two consumer groups', () => {
  let broker: TestBroker;
  beforeAll(async () => {
    broker = await startBroker();
  });
  afterAll(() => broker.stop());

  it('arrive complete, in order and byte for byte; a second push finds only duplicates', async () => {
    const report = await replay(broker.base, () => undefined);
    expect(report).toMatchObject({
      messages: 10_329,
      queued: 10_329,
      missing: 0,
      orderViolations: 0,
      byteMismatches: 0,
      deadLetters: 0,
      secondPush: { duplicate: 10_329 },
    });
    expect(report.groups.steady).toEqual({ deliveries: 10_329, redeliveries: 0 });
    expect(report.groups.flaky.redeliveries).toBeGreaterThan(0);
  }, 60_000);
});
