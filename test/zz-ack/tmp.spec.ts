import { afterEach, expect, it } from '@jest/globals';
import { AckFlusher } from '../../src/ack/flush/ack-flusher.js';
import { AckService } from '../../src/ack/ack.service.js';
import { acksFor, queuePath, startBroker, type TestBroker } from '../support/broker.js';
let one: TestBroker;
afterEach(() => one.stop());
async function run(settings: Record<string, string | boolean>) {
  one = await startBroker(settings);
  const items = Array.from({ length: 200 }, (_, i) => ({ queue: 'q', partition: `p${i % 50}`, payload: i, transactionId: `t${i}` }));
  await one.push(items);
  const pops = await Promise.all(Array.from({ length: 50 }, () => one.pop(queuePath('q'), { consumerGroup: 'g', partitions: 1, batch: 10 })));
  let got = pops.filter((p) => p.status === 200);
  for (let i = 0; i < 60 && got.length < 50; i++) { const p = await one.pop(queuePath('q'), { consumerGroup: 'g' }); if (p.status === 200) got.push(p); }
  expect(got.flatMap((p) => p.body.messages)).toHaveLength(200);
  const acks = await Promise.all(got.map((p) => one.ackBatch(acksFor(p.body.messages))));
  expect(acks.every((a) => a.status === 200 && a.body.every((x) => x.success && !x.noop))).toBe(true);
  console.log(settings, one.broker.app.get(AckService, { strict: false }).stats(), one.broker.app.get(AckFlusher, { strict: false }).stats());
  expect((await one.pop(queuePath('q'), { consumerGroup: 'g' })).status).toBe(204);
  const rows = (await one.database.query('select sum(total_consumed)::int s, count(*) filter (where worker_id is not null)::int l from queen.log_consumers')).rows;
  expect(rows[0]).toEqual({ s: 200, l: 0 });
}
it('defaults', () => run({}));
it('no fusion', () => run({ QUEEN_ACK_FUSION: '0' }));
it('no registry', () => run({ QUEEN_ACK_REGISTRY: 'off' }));
it('no hotlist', () => run({ QUEEN_HOTLIST: '0' }));
it('tiny pool', () => run({ DB_POOL_SIZE: '4', QUEEN_POOL_RESERVE: '2' }));
