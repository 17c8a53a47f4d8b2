import { describe, expect, it } from '@jest/globals';
import { newHotlist, type TestHotlist } from '../../test/support/hotlist.js';
import { QueueEvents } from '../base/queue-events.js';
import { queueKey } from '../base/queue-key.js';
import { Reconcile } from '../base/reconcile.js';
import type { QueueConfigService } from '../queue-config/queue-config.service.js';
import type { WakeGateService } from '../wake-gate/wake-gate.service.js';
import type { HintBus } from './hint-bus.js';
import type { Hint } from './hint.js';
import { HintOutlet } from './hint-outlet.js';
import { HintsService } from './hints.service.js';

const KEY = queueKey('tenant', 'q');
const FLUSH_MS = 20;

/** Each call of publish waits until the spec lets it go. */
class SlowBus implements HintBus {
  readonly calls: (readonly Hint[])[] = [];
  readonly ended: string[] = [];
  private readonly underWay: (() => void)[] = [];

  async start(): Promise<void> {}

  publish(hints: readonly Hint[]): Promise<void> {
    this.calls.push(hints);
    return new Promise((resolve) => {
      this.underWay.push(() => {
        this.ended.push(`sent ${hints.length}`);
        resolve();
      });
    });
  }

  async letGo(): Promise<void> {
    this.underWay.shift()!();
    await endOfTurn();
  }

  stats() {
    return { isConnected: true, hasPeers: true, sent: 0, received: 0, dropped: 0, reconnects: 0 };
  }

  async stop(): Promise<void> {
    this.ended.push('stopped');
  }
}

const endOfTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

function hintsOver(bus: HintBus): { hints: HintsService; events: QueueEvents; test: TestHotlist } {
  const outlet = new HintOutlet();
  const test = newHotlist({}, outlet);
  const events = new QueueEvents();
  const gates = { open: () => undefined } as unknown as WakeGateService;
  const configs = { forget: () => undefined } as unknown as QueueConfigService;
  const hints = new HintsService(
    ...([bus, test.hotlist, configs, gates, events, new Reconcile(), outlet, test.clock] as const),
  );
  return { hints, events, test };
}

const mark = ({ hotlist }: TestHotlist, partition: string) =>
  hotlist.offer(KEY, partition, 1, { broadcast: true });
const dirty = (partition: string) => ({ kind: 'dirty', key: KEY, partition });

describe('HintsService', () => {
  it('sends marks of twenty milliseconds together, each partition once', async () => {
    const bus = new SlowBus();
    const { test } = hintsOver(bus);
    for (const partition of ['a', 'b', 'a']) mark(test, partition);
    test.clock.advance(FLUSH_MS - 1);
    expect(bus.calls).toEqual([]);
    test.clock.advance(1);
    expect(bus.calls).toEqual([[dirty('a'), dirty('b')]]);
  });

  it('sends what came during a slow flush with the next one, and no two at once', async () => {
    const bus = new SlowBus();
    const { test, events } = hintsOver(bus);
    mark(test, 'a');
    test.clock.advance(FLUSH_MS);
    mark(test, 'b');
    events.queueDropped({ tenant: 'tenant', queue: 'q', key: KEY });
    test.clock.advance(10 * FLUSH_MS);
    expect(bus.calls).toHaveLength(1);

    await bus.letGo();
    test.clock.advance(FLUSH_MS);
    expect(bus.calls.slice(1)).toEqual([[{ kind: 'dropped', key: KEY }, dirty('b')]]);

    await bus.letGo();
    test.clock.advance(10 * FLUSH_MS);
    expect(bus.calls).toHaveLength(2);
  });

  it('sends the marks of the last pushes before the bus stops', async () => {
    const bus = new SlowBus();
    const { hints, test } = hintsOver(bus);
    mark(test, 'last');
    const left = hints.onApplicationShutdown();
    await endOfTurn();
    expect(bus.calls).toEqual([[dirty('last')]]);
    await bus.letGo();
    await left;
    expect(bus.ended).toEqual(['sent 1', 'stopped']);
  });

  it('does not tell again what it was told', async () => {
    const bus = new SlowBus();
    const { hints, test } = hintsOver(bus);
    hints.heard({ kind: 'dropped', key: KEY });
    test.clock.advance(FLUSH_MS);
    expect(bus.calls).toEqual([]);
  });
});
