import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { startBroker, type TestBroker } from '../support/broker.js';
import { clientOf, type Client } from '../support/client.js';

/*
 * Field case A32: lanes are cheap for the broker and dear for whoever keeps the metrics. So a page has a bounded number of
 * series whatever queues, partitions, groups and paths there are, and what is deleted leaves it.
 */

jest.setTimeout(180_000);

const ODD = ['a"b', 'a\\b', 'a\nb', '😀', '{}', 'a,b="c"'];

let broker: TestBroker;
let at: Client;
beforeAll(async () => {
  broker = await startBroker();
  at = clientOf(broker.port);
});
afterAll(() => broker.stop());

const page = async () => (await at.get('/metrics/prometheus')).text;
const seriesOf = (text: string) => text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));

describe('the metrics page', () => {
  it('does not grow with queues, partitions, groups and unknown paths, and forgets what is deleted (A32)', async () => {
    await at.push([{ queue: 'first', payload: 0 }]);
    await at.pop('first', { consumerGroup: 'g', autoAck: true });
    const before = seriesOf(await page()).length;

    const queues = Array.from({ length: 300 }, (_, n) => `queue-of-many-${n}`);
    for (let from = 0; from < queues.length; from += 50) {
      const some = queues.slice(from, from + 50);
      await at.push(
        some.flatMap((queue) =>
          Array.from({ length: 10 }, (_, n) => ({ queue, partition: `lane-${n}`, payload: n })),
        ),
      );
    }
    for (let n = 0; n < 50; n++) await at.pop(queues[n], { consumerGroup: `group-of-many-${n}` });
    for (const queue of ODD) await at.push([{ queue, payload: 1 }]);
    for (let n = 0; n < 50; n++) await at.get(`/no/such/path/${n}`);
    await at.post('/api/v1/stats/refresh');

    const text = await page();
    expect(text.length).toBeLessThan(5_000_000);
    expect(text).not.toMatch(/lane-\d|group-of-many|no\/such\/path/);
    // Named queues are the few with most of something; the bound does not depend on how many there are.
    expect(seriesOf(text).length - before).toBeLessThan(300);
    for (const line of seriesOf(text)) {
      expect(line).toMatch(
        /^[a-zA-Z_:][\w:]*(\{([a-zA-Z_]\w*="([^"\\]|\\["\\n])*",?)*\})? (NaN|[-+]?(Inf|[\d.]+(e[-+]?\d+)?))$/,
      );
    }

    for (const queue of [...queues, ...ODD])
      await at.del(`/api/v1/resources/queues/${encodeURIComponent(queue)}`);
    await at.post('/api/v1/stats/refresh');
    expect(await page()).not.toContain('queue-of-many');
  });
});
