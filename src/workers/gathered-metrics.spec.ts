import { beforeEach, expect, it } from '@jest/globals';
import { Counter, Gauge, Registry } from 'prom-client';
import { ManualClock } from '../base/clock/manual-clock.js';
import type { ProcessMetrics } from '../base/worker-group/worker-group.js';
import { GatheredMetrics } from './gathered-metrics.js';
import { joinNumbers } from './join-metrics.js';
import type { ToWorker } from './messages.js';
import type { WorkerProcess } from './worker-process.js';

/** Answers with what it is given; silent without. */
class FakeWorker implements WorkerProcess {
  asked = 0;
  says: ProcessMetrics | null = null;

  constructor(readonly pid: number) {}

  send(message: ToWorker): void {
    if (message.kind !== 'report') return;
    this.asked++;
    if (this.says) gathered.report(this, message.id, this.says);
  }

  kill(): void {
    throw new Error('nobody is killed for a number');
  }

  listen(): void {
    throw new Error('nobody listens here');
  }
}

let clock: ManualClock;
let workers: FakeWorker[];
let gathered: GatheredMetrics;

beforeEach(() => {
  clock = new ManualClock();
  workers = [new FakeWorker(1), new FakeWorker(2)];
  gathered = new GatheredMetrics(() => workers, clock);
});

async function metrics(pushes: number, parked: number, lagMs: number): Promise<ProcessMetrics> {
  const registry = new Registry();
  const register = { help: 'h', registers: [registry] };
  new Counter({ ...register, name: 'pushes_total', labelNames: ['op'] }).inc({ op: 'x' }, pushes);
  new Gauge({ ...register, name: 'parked' }).set(parked);
  new Gauge({ ...register, name: 'lag_ms', aggregator: 'max' }).set(lagMs);
  const numbers = { ...joinNumbers([]), requests: { total: pushes, rate: 0 }, uptime: lagMs };
  return { families: await registry.getMetricsAsJSON(), numbers };
}

function values(exposition: string): Record<string, number> {
  const lines = exposition.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  );
}

it('adds up counters and gauges, and takes the largest where a family says so', async () => {
  workers[0].says = await metrics(3, 10, 7);
  workers[1].says = await metrics(4, 20, 5);
  const { exposition, numbers } = await gathered.gather();
  expect(values(exposition)).toEqual({ 'pushes_total{op="x"}': 7, parked: 30, lag_ms: 7 });
  expect(numbers).toMatchObject({ requests: { total: 7 }, uptime: 7 });
});

it('asks once for all who ask at the same time', async () => {
  for (const worker of workers) worker.says = await metrics(1, 1, 1);
  const [first, second] = await Promise.all([gathered.gather(), gathered.gather()]);
  expect(first).toBe(second);
  expect(workers.map(({ asked }) => asked)).toEqual([1, 1]);
  await gathered.gather();
  expect(workers.map(({ asked }) => asked)).toEqual([2, 2]);
});

it('keeps the counts of a worker that is gone, and nothing else of it', async () => {
  workers[0].says = await metrics(3, 10, 7);
  workers[1].says = await metrics(4, 20, 5);
  await gathered.gather();
  const [gone] = workers.splice(1, 1);
  gathered.left(gone);
  expect(values((await gathered.gather()).exposition)).toEqual({
    'pushes_total{op="x"}': 7,
    parked: 10,
    lag_ms: 7,
  });
  const next = new FakeWorker(3);
  next.says = await metrics(1, 2, 9);
  workers.push(next);
  const { exposition, numbers } = await gathered.gather();
  expect(values(exposition)).toEqual({ 'pushes_total{op="x"}': 8, parked: 12, lag_ms: 9 });
  expect(numbers.requests.total).toBe(8);
});

it('counts a worker that does not answer with what it said before', async () => {
  workers[0].says = await metrics(3, 10, 7);
  workers[1].says = await metrics(4, 20, 5);
  await gathered.gather();
  workers[0].says = await metrics(5, 0, 7);
  workers[1].says = null;
  const answer = gathered.gather();
  clock.advance(2000);
  expect(values((await answer).exposition)).toMatchObject({ 'pushes_total{op="x"}': 9, parked: 20 });
});

it('does not wait for a worker that ends meanwhile', async () => {
  workers[0].says = await metrics(3, 10, 7);
  const answer = gathered.gather();
  gathered.left(workers[1]);
  expect(values((await answer).exposition)).toMatchObject({ 'pushes_total{op="x"}': 3 });
});

it('has nothing to say without workers', async () => {
  workers.length = 0;
  expect(values((await gathered.gather()).exposition)).toEqual({});
});
