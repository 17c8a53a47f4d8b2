import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startBroker, queuePath, type TestBroker } from '../support/broker.js';

/** Series of one scrape without their values. */
function seriesOf(text: string): Set<string> {
  return new Set(
    text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => line.slice(0, line.lastIndexOf(' '))),
  );
}

function valueOf(text: string, series: string): number {
  const line = text.split('\n').find((one) => one.startsWith(`${series} `));
  if (!line) throw new Error(`no series ${series}`);
  return Number(line.slice(series.length + 1));
}

describe('GET /metrics/prometheus', () => {
  let broker: TestBroker;
  beforeAll(async () => {
    broker = await startBroker();
  });
  afterAll(() => broker.stop());

  const scrape = async () => {
    const answer = await fetch(`${broker.base}/metrics/prometheus`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(answer.headers.get('cache-control')).toBe('no-cache');
    return answer.text();
  };

  it('counts what a scripted scenario does', async () => {
    await broker.push(
      ['a', 'b', 'a'].map((transactionId) => ({ queue: 'metrics', transactionId, payload: 1 })),
    );
    const popped = await broker.pop(queuePath('metrics'), { consumerGroup: 'g', batch: 10 });
    await broker.ackBatch({
      consumerGroup: 'g',
      acknowledgments: popped.body.messages.map((message) => ({ ...message, status: 'completed' })),
    });
    const text = await scrape();
    expect(valueOf(text, 'queen_process_push_requests_total')).toBe(1);
    expect(valueOf(text, 'queen_process_push_messages_total')).toBe(3);
    expect(valueOf(text, 'queen_push_duplicates_total')).toBe(1);
    expect(valueOf(text, 'queen_process_pop_messages_total')).toBe(2);
    expect(valueOf(text, 'queen_pop_attempts_total{path="scan",result="data"}')).toBe(1);
    expect(valueOf(text, 'queen_process_ack_messages_total')).toBe(2);
    expect(valueOf(text, 'queen_ack_registry_hits_total')).toBe(1);
  });

  it('has no series that grows with partitions (A32)', async () => {
    const before = seriesOf(await scrape());
    await broker.push(
      Array.from({ length: 500 }, (_, i) => ({ queue: 'metrics', partition: `p${i}`, payload: i })),
    );
    await broker.pop(queuePath('metrics'), { consumerGroup: 'g', partitions: 50 });
    const after = seriesOf(await scrape());
    expect(after.size - before.size).toBeLessThanOrEqual(2);
    expect([...after].filter((series) => series.includes('p499'))).toEqual([]);
  });

  it('names the queues with most parked pops and sums the rest, escaped as the format wants', async () => {
    const client = new AbortController();
    const queue = 'qu"ote\\and\nline';
    const parked = broker
      .pop(queuePath(queue), { consumerGroup: 'g', wait: true, timeout: 20_000 }, { signal: client.signal })
      .catch(() => undefined);
    const series = 'queen_parked_long_polls{queue="qu\\"ote\\\\and\\nline"}';
    const deadline = Date.now() + 5000;
    let text = '';
    do text = await scrape();
    while (!text.includes(`${series} 1`) && Date.now() < deadline);
    expect(valueOf(text, series)).toBe(1);
    client.abort();
    await parked;
  });
});
