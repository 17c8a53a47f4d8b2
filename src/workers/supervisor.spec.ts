import { beforeEach, describe, expect, it } from '@jest/globals';
import { ManualClock } from '../base/clock/manual-clock.js';
import type { DatabaseOptions } from '../raw-sql/database-options.js';
import type { FromWorker, ToWorker } from './messages.js';
import { STEADY_MS } from './restart-delay.js';
import { Supervisor } from './supervisor.js';
import type { WorkerEvents, WorkerProcess } from './worker-process.js';

const PORT = 7001;
const database = { poolSize: 4 } as DatabaseOptions;

/** A worker that does what the spec says. */
class FakeWorker implements WorkerProcess {
  readonly sent: ToWorker[] = [];
  readonly signals: string[] = [];
  private events!: WorkerEvents;

  constructor(readonly pid: number) {}

  listen(events: WorkerEvents): void {
    this.events = events;
  }

  send(message: ToWorker): void {
    this.sent.push(message);
  }

  kill(signal: NodeJS.Signals): void {
    this.signals.push(signal);
    this.exit(null, signal);
  }

  say(message: FromWorker): void {
    this.events.message(message);
  }

  exit(code: number | null, signal: string | null = null): void {
    this.events.exit(code, signal);
  }

  /** Boots as far as asking for the port. */
  async prepare(): Promise<void> {
    this.say({ kind: 'hello' });
    this.say({ kind: 'prepared' });
    await settled();
  }

  async serve(port = PORT): Promise<void> {
    await this.prepare();
    this.say({ kind: 'ready', port });
    await settled();
  }
}

let clock: ManualClock;
let forked: FakeWorker[];
let heard: FromWorker[];
let gone: number[];
let lines: string[];
let frees: number;

beforeEach(() => {
  clock = new ManualClock();
  [forked, heard, gone, lines, frees] = [[], [], [], [], 0];
});

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
const last = () => forked[forked.length - 1];

function supervise(workers: number, port = PORT): Supervisor {
  return new Supervisor({
    ...{ workers, port, clock },
    fork: () => {
      forked.push(new FakeWorker(100 + forked.length));
      return last();
    },
    assignment: (number) => ({ number, database }),
    freePort: async () => void frees++,
    heard: (_worker, message) => heard.push(message),
    left: ({ pid }) => gone.push(pid),
    log: { log: (line) => lines.push(line), warn: (line) => lines.push(line) },
  });
}

/** What has become of a promise by now. */
async function stateOf(promise: Promise<unknown>): Promise<unknown> {
  let state: unknown = 'pending';
  promise.then(
    (value) => (state = value),
    (error: Error) => (state = `rejected: ${error.message}`),
  );
  await settled();
  return state;
}

describe('the start of workers', () => {
  it('tells each who it is, frees the port before one listens, and is done when all serve', async () => {
    const supervisor = supervise(2);
    const started = supervisor.start();
    expect(forked).toHaveLength(2);
    forked[1].say({ kind: 'hello' });
    expect(forked[1].sent).toEqual([{ kind: 'assignment', number: 1, database }]);
    expect(frees).toBe(0);
    await forked[0].serve();
    expect(frees).toBe(1);
    expect(forked[0].sent).toEqual([
      { kind: 'assignment', number: 0, database },
      { kind: 'listen', port: PORT },
    ]);
    expect(await stateOf(started)).toBe('pending');
    await forked[1].serve();
    expect(await stateOf(started)).toBe(PORT);
    expect(supervisor.ready).toEqual(forked);
  });

  it('fails with the reason when no worker could start, and starts none again', async () => {
    const started = supervise(2).start();
    const state = stateOf(started);
    for (const worker of [...forked]) {
      worker.say({ kind: 'failed', reason: 'the port is taken' });
      worker.exit(1);
    }
    await state;
    expect(await stateOf(started)).toBe('rejected: the port is taken');
    clock.advance(60_000);
    expect(forked.every(({ signals, pid }) => pid < 102 || signals.includes('SIGKILL'))).toBe(true);
    const after = forked.length;
    clock.advance(60_000);
    expect(forked).toHaveLength(after);
  });

  it('is good when one of them serves; the other is tried again', async () => {
    const started = supervise(2).start();
    await forked[0].serve();
    forked[1].exit(1);
    expect(await stateOf(started)).toBe(PORT);
    clock.advance(200);
    expect(forked).toHaveLength(3);
    last().say({ kind: 'hello' });
    expect(last().sent).toEqual([{ kind: 'assignment', number: 1, database }]);
  });

  it('that is interrupted by a drain ends without a port', async () => {
    const supervisor = supervise(2);
    const started = supervisor.start();
    forked[0].say({ kind: 'hello' });
    const drained = supervisor.drain('SIGTERM');
    expect(await stateOf(started)).toBeNull();
    for (const worker of forked) worker.exit(0);
    expect(await stateOf(drained)).toBe(true);
  });
});

describe('a port that is left to the system', () => {
  it('is the same for all workers, also for one that comes later', async () => {
    const started = supervise(2, 0).start();
    await forked[0].serve(40_001);
    await forked[1].serve(40_001);
    expect(await started).toBe(40_001);
    forked[0].exit(null, 'SIGKILL');
    clock.advance(200);
    await last().prepare();
    expect(last().sent[1]).toEqual({ kind: 'listen', port: 0 }); // shared with the one that has it
  });

  it('is asked for by number when nobody has it any longer', async () => {
    const started = supervise(2, 0).start();
    for (const worker of [...forked]) await worker.serve(40_001);
    await started;
    for (const worker of forked.slice(0, 2)) worker.exit(null, 'SIGKILL');
    clock.advance(200);
    await last().prepare();
    expect(last().sent[1]).toEqual({ kind: 'listen', port: 40_001 });
    last().say({ kind: 'ready', port: 40_001 });
    await forked[2].prepare();
    expect(forked[2].sent[1]).toEqual({ kind: 'listen', port: 40_001 });
  });

  it('sends away a worker that got another one', async () => {
    const supervisor = supervise(2, 0);
    void supervisor.start();
    await forked[0].serve(40_001);
    await forked[1].serve(40_002);
    expect(forked[1].sent.at(-1)).toEqual({ kind: 'drain', reason: 'another port' });
    expect(supervisor.ready).toEqual([forked[0]]);
  });
});

describe('a worker that ends', () => {
  it('after it had served for a while is replaced at once, in its place', async () => {
    const supervisor = supervise(2);
    void supervisor.start();
    for (const worker of [...forked]) await worker.serve();
    clock.advance(STEADY_MS);
    forked[1].exit(null, 'SIGKILL');
    expect(gone).toEqual([101]);
    expect(supervisor.ready).toEqual([forked[0]]);
    expect(lines.at(-1)).toMatch(/worker 1 \(process 101\) is gone, .* now: it was ended by SIGKILL/);
    clock.advance(0);
    expect(forked).toHaveLength(3);
    await last().serve();
    expect(last().sent[0]).toMatchObject({ number: 1 });
    expect(supervisor.ready).toEqual([forked[0], forked[2]]);
  });

  it('soon, again and again, is replaced later and later, while the others go on', async () => {
    const supervisor = supervise(2);
    void supervisor.start();
    for (const worker of [...forked]) await worker.serve();
    for (const pauseMs of [200, 400, 800, 1600]) {
      const before = forked.length;
      (forked.length === 2 ? forked[1] : last()).exit(1);
      clock.advance(pauseMs - 1);
      expect(forked).toHaveLength(before);
      clock.advance(1);
      expect(forked).toHaveLength(before + 1);
    }
    expect(forked[0].sent.map(({ kind }) => kind)).toEqual(['assignment', 'listen']);
    await last().serve();
    clock.advance(STEADY_MS);
    const before = forked.length;
    last().exit(1);
    clock.advance(0);
    expect(forked).toHaveLength(before + 1); // it had served: the count begins anew
  });
});

describe('a drain', () => {
  it('tells all, replaces none, and is done when the last one has left', async () => {
    const supervisor = supervise(3);
    void supervisor.start();
    for (const worker of [...forked]) await worker.serve();
    forked[2].exit(1); // its place is empty just now
    const drained = supervisor.drain('SIGTERM');
    for (const worker of forked.slice(0, 2)) {
      expect(worker.sent.at(-1)).toEqual({ kind: 'drain', reason: 'SIGTERM' });
    }
    forked[0].exit(0);
    expect(await stateOf(drained)).toBe('pending');
    forked[1].exit(0);
    expect(await stateOf(drained)).toBe(true);
    clock.advance(60_000);
    expect(forked).toHaveLength(3);
  });

  it('reaches a worker that was still loading', async () => {
    const supervisor = supervise(1);
    void supervisor.start();
    const drained = supervisor.drain('SIGTERM');
    forked[0].say({ kind: 'hello' });
    expect(forked[0].sent.map(({ kind }) => kind)).toEqual(['drain', 'drain']);
    forked[0].exit(0);
    expect(await stateOf(drained)).toBe(true);
  });

  it('was not clean when a worker left with a failure, or had to be killed', async () => {
    const ends = [
      (worker: FakeWorker) => worker.exit(1),
      (_: FakeWorker, supervisor: Supervisor) => supervisor.kill(),
    ];
    for (const end of ends) {
      forked = [];
      const supervisor = supervise(1);
      void supervisor.start();
      await forked[0].serve();
      const drained = supervisor.drain('SIGTERM');
      end(forked[0], supervisor);
      expect(await stateOf(drained)).toBe(false);
    }
  });

  it('of nobody is done at once', async () => {
    expect(await supervise(2).drain('SIGTERM')).toBe(true);
  });
});

it('passes on what is not about the life of a worker', () => {
  void supervise(1).start();
  forked[0].say({ kind: 'gather', id: 3 });
  expect(heard).toEqual([{ kind: 'gather', id: 3 }]);
});
