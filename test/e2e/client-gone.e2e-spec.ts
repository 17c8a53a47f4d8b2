import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { HotlistService } from '../../src/hotlist/hotlist.service.js';
import { LimiterService } from '../../src/limiter/limiter.service.js';
import { ClaimFlusher } from '../../src/pop/flush/claim-flusher.js';
import { RawSqlService } from '../../src/raw-sql/raw-sql.service.js';
import { WakeGateService } from '../../src/wake-gate/wake-gate.service.js';
import { partitionPath, queuePath, startBroker, type TestBroker } from '../support/broker.js';
import { untilBlocked } from '../support/blocked.js';
import { candidatePaths, SOON } from '../support/candidate-paths.js';
import { consumerRow, countRows, expireLease, numbered } from '../support/make.js';
import { RawConnection, rawRequest } from '../support/raw-http.js';
import { openSessions, type TestSession } from '../support/sessions.js';
import { waitFor } from '../support/wait-for.js';

describe.each(candidatePaths)('a client that leaves, %s', (_, settings) => {
  let broker: TestBroker;
  let s1: TestSession;
  beforeAll(async () => {
    // Few pops to a claim, so that some have to wait for their turn.
    broker = await startBroker({ ...settings, QUEEN_POP_FUSION_MAX_JOBS: '4' });
    ({ s1 } = await openSessions(broker.database, ['s1']));
  });
  afterAll(() => broker.stop());

  const gates = () => broker.broker.app.get(WakeGateService).stats();
  const push = (queue: string, ...texts: string[]) =>
    broker.push(texts.map((payload) => ({ queue, partition: 'p', payload })));

  async function send(method: string, path: string, body?: string): Promise<RawConnection> {
    return (await RawConnection.open(broker.port)).send(rawRequest(method, path, body));
  }

  /** Everything a request may hold is back. */
  async function nothingIsHeld(): Promise<void> {
    const { app } = broker.broker;
    const held = () => {
      const { total, idle, waiting } = app.get(RawSqlService).stats();
      const lanes = Object.values(app.get(LimiterService).stats());
      const { openTickets, entries } = app.get(HotlistService).stats();
      return [
        total - idle,
        waiting,
        ...lanes.flatMap((lane) => [lane.inFlight, lane.waiting]),
        openTickets,
        entries.inflight,
        gates().parked,
      ];
    };
    await waitFor(() => held().every((count) => count === 0), {
      within: 10_000,
      what: 'permits, connections, names and waiters to be given back',
    });
  }

  it('while parked leaves no waiter behind, and takes nothing from those who stay', async () => {
    const paths = ['/queue/parked?', '/queue/parked/partition/p?', '?namespace=parked&'];
    const clients = await Promise.all(
      paths.map((path) => send('GET', `/api/v1/pop${path}wait=true&timeout=60000`)),
    );
    await waitFor(() => gates().parked === 3, { within: 5000, what: 'three pops to be parked' });
    for (const client of clients) client.destroy();
    await waitFor(() => gates().parked === 0, { within: 5000, what: 'the waiters to leave' });

    await push('parked', 'm');
    const cursor = await consumerRow(broker.database, 'parked', 'p', '__QUEUE_MODE__');
    expect(cursor?.workerId ?? null).toBeNull();
    expect((await broker.pop(queuePath('parked'))).body.messages).toMatchObject([
      { data: 'm', deliveryAttempt: 1 },
    ]);
    await nothingIsHeld();
  });

  it('in the middle of a claim has its batch leased until the lease runs out; then others get it', async () => {
    await push('mid-claim', 'm');
    await s1.begin();
    await s1.run('lock table queen.log_consumers in access exclusive mode');
    const client = await send('GET', '/api/v1/pop/queue/mid-claim/partition/p?consumerGroup=g');
    await untilBlocked(broker.database, 1);
    client.destroy();
    await s1.commit();

    const cursor = await waitFor(
      async () => {
        const row = await consumerRow(broker.database, 'mid-claim', 'p');
        return row?.workerId ? row : null;
      },
      { within: 5000, what: 'the claim to commit' },
    );
    expect(cursor).toMatchObject({ committed: -1, batchEnd: 0, attemptCount: 1 });
    await nothingIsHeld();
    expect(await broker.pop(partitionPath('mid-claim', 'p'), { consumerGroup: 'g' })).toMatchObject({
      status: 204,
    });
    await expireLease(broker.database, 'mid-claim', 'p');
    const { body } = await broker.pop(queuePath('mid-claim'), { consumerGroup: 'g', ...SOON });
    expect(body.messages).toMatchObject([{ data: 'm', deliveryAttempt: 2 }]);
  });

  it('while it waits behind others for its turn claims nothing', async () => {
    const partitions = numbered('p', 40);
    await broker.push(partitions.map((partition) => ({ queue: 'turn', partition, payload: 1 })));
    for (let i = 0; i < 2; i++) await broker.pop(queuePath('turn'), { consumerGroup: 'g' });
    await s1.begin();
    await s1.run('lock table queen.log_segments in access exclusive mode');
    const path = '/api/v1/pop/queue/turn?consumerGroup=g&batch=1&wait=true&timeout=60000';
    const clients = await Promise.all(partitions.map(() => send('GET', path)));
    const { app } = broker.broker;
    const turns = () => {
      const lane = app.get(LimiterService).stats().pop;
      const shared = app.get(ClaimFlusher).stats();
      return {
        underWay: lane.inFlight - shared.inFlight + shared.serving,
        waiting: lane.waiting + shared.waiting,
      };
    };
    await waitFor(() => turns().underWay + turns().waiting === 40, {
      within: 20_000,
      what: 'forty pops to claim or to wait for their turn',
    });
    const { underWay } = turns();
    expect(underWay).toBeLessThan(20);
    for (const client of clients) client.destroy();
    await waitFor(() => turns().waiting === 0, { within: 10_000, what: 'nobody to wait for a turn' });
    await s1.commit();
    await nothingIsHeld();
    const leased = await countRows(
      broker.database,
      'log_consumers',
      "consumer_group = 'g' and worker_id is not null and partition_id in (select id from queen.log_partitions where name like 'p%' and name <> 'p')",
    );
    expect(leased).toBeLessThanOrEqual(2 + underWay);
  }, 60_000);

  it('after its push was sent has it stored all the same', async () => {
    await push('left', 'first');
    await s1.begin();
    await s1.run('lock table queen.log_segments in access exclusive mode');
    const client = await send(
      'POST',
      '/api/v1/push',
      '{"items":[{"queue":"left","partition":"p","payload":"second"}]}',
    );
    await untilBlocked(broker.database, 1);
    client.destroy();
    await s1.commit();
    await nothingIsHeld();
    const { body } = await broker.pop(queuePath('left'), SOON);
    expect(body.messages.map(({ data }) => data)).toEqual(['first', 'second']);
  });

  it('in the middle of its body has stored nothing', async () => {
    const client = await RawConnection.open(broker.port);
    client.send(
      'POST /api/v1/push HTTP/1.1\r\nHost: broker\r\nContent-Length: 1000\r\n\r\n{"items":[{"queue":"half","payload":1}',
    );
    client.destroy();
    await nothingIsHeld();
    expect(await broker.get('/health')).toMatchObject({ status: 200 });
    expect(await countRows(broker.database, 'queues', "name = 'half'")).toBe(0);
  });
});
