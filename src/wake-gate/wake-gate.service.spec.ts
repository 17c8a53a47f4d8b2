import { getEventListeners } from 'node:events';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { Test } from '@nestjs/testing';
import { ManualClock } from '../base/clock/manual-clock.js';
import { CLOCK } from '../base/clock/clock.js';
import { queueKey } from '../base/queue-key.js';
import { WakeGateService } from './wake-gate.service.js';
import type { WakeKey } from './wake-key.js';
import { WAKE_DEFER } from './wake-pump.js';
import type { WakeTicket } from './wake-ticket.js';

const key = queueKey('tenant', 'orders');
const everyone: WakeKey = { kind: 'queue', key };
const partition = (name: string): WakeKey => ({ kind: 'partition', key, partition: name });

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('WakeGateService', () => {
  let clock: ManualClock;
  let turns: (() => void)[];
  let gates: WakeGateService;
  /** A client that stays. */
  const stays = () => new AbortController().signal;

  beforeEach(() => {
    clock = new ManualClock();
    turns = [];
    gates = new WakeGateService(clock, (run) => turns.push(run));
  });

  /** Runs the deferred turns there are, counting wakes of each. */
  function runTurns(): number[] {
    const wokenPerTurn: number[] = [];
    for (let turn = turns.shift(); turn; turn = turns.shift()) {
      const before = gates.stats().woken;
      turn();
      wokenPerTurn.push(gates.stats().woken - before);
    }
    return wokenPerTurn;
  }

  /** A pop that has been quiet for long enough to be within its allowance. */
  function ticketFor(wakeKey: WakeKey = everyone): WakeTicket {
    return gates.ticket(wakeKey);
  }

  /** Follows a park: null while it lasts, then its answer. */
  function follow(park: Promise<boolean>): { answer: boolean | null } {
    const seen: { answer: boolean | null } = { answer: null };
    void park.then((woken) => (seen.answer = woken));
    return seen;
  }

  it('is built from its two tokens', async () => {
    const module = await Test.createTestingModule({
      providers: [
        WakeGateService,
        { provide: CLOCK, useValue: clock },
        { provide: WAKE_DEFER, useValue: () => undefined },
      ],
    }).compile();
    expect(module.get(WakeGateService).stats().parked).toBe(0);
    await module.close();
    expect(module.get(WakeGateService).isClosed).toBe(true);
  });

  describe('waking', () => {
    it('wakes a parked pop and leaves no timer', async () => {
      const park = gates.park(ticketFor(), 1_000, stays());
      expect(gates.stats()).toMatchObject({ parked: 1, byQueue: [{ key, parked: 1 }] });
      gates.open(key, 'p1');
      expect(await park).toBe(true);
      expect(gates.stats()).toMatchObject({ parked: 0, byQueue: [], woken: 1, openings: 1 });
      expect(clock.pendingTimers).toBe(0);
    });

    it('answers false when the time has passed', async () => {
      const park = follow(gates.park(ticketFor(), 100, stays()));
      clock.advance(99);
      await settled();
      expect(park.answer).toBeNull();
      clock.advance(1);
      await settled();
      expect(park.answer).toBe(false);
      expect(gates.stats()).toMatchObject({ parked: 0, woken: 0 });
    });

    it('does not lose a wake that comes while the pop looks', async () => {
      const ticket = ticketFor();
      ticket.refresh();
      gates.open(key);
      expect(await gates.park(ticket, 1_000, stays())).toBe(true);
    });

    it('does not take an opening before the look for one after it', async () => {
      const ticket = ticketFor();
      gates.open(key);
      ticket.refresh();
      const park = follow(gates.park(ticket, 100, stays()));
      clock.advance(100);
      await settled();
      expect(park.answer).toBe(false);
    });

    it('wakes a single-partition pop by its partition or by an opening without one', async () => {
      const mine = follow(gates.park(ticketFor(partition('mine')), 1_000, stays()));
      gates.open(key, 'neighbour');
      await settled();
      expect(mine.answer).toBeNull();
      gates.open(key, 'mine');
      await settled();
      expect(mine.answer).toBe(true);

      const again = follow(gates.park(ticketFor(partition('mine')), 1_000, stays()));
      gates.open(key);
      await settled();
      expect(again.answer).toBe(true);
    });

    it('wakes only the queue that was opened', async () => {
      const other = follow(
        gates.park(gates.ticket({ kind: 'queue', key: queueKey('tenant', 'other') }), 1_000, stays()),
      );
      gates.open(key);
      await settled();
      expect(other.answer).toBeNull();
    });

    it('wakes discovery pops of the tenant by any of its queues, of no other tenant, 20 times a second', async () => {
      let wakes = 0;
      let running = true;
      const poll = async () => {
        using ticket = gates.ticket({ kind: 'discovery', tenant: 'tenant' });
        while (running) {
          ticket.refresh();
          if (await gates.park(ticket, 10_000, stays())) wakes += 1;
        }
      };
      const polling = poll();
      const foreign = follow(gates.park(gates.ticket({ kind: 'discovery', tenant: 'ten' }), 10_000, stays()));
      for (let i = 0; i < 1_000; i++) {
        gates.open(queueKey('tenant', `queue\u001f${i}`));
        await settled();
        runTurns();
        clock.advance(1);
      }
      expect(wakes).toBeGreaterThanOrEqual(19);
      expect(wakes).toBeLessThanOrEqual(21);
      expect(foreign.answer).toBeNull();
      running = false;
      gates.closeAll();
      runTurns();
      await polling;
    });
  });

  describe('exits', () => {
    it('ends with false when the client leaves, without timer or listener', async () => {
      const client = new AbortController();
      const park = gates.park(ticketFor(), 1_000, client.signal);
      client.abort();
      expect(await park).toBe(false);
      expect(gates.stats().parked).toBe(0);
      expect(clock.pendingTimers).toBe(0);
      expect(getEventListeners(client.signal, 'abort')).toHaveLength(0);
      expect(await gates.park(ticketFor(), 1_000, client.signal)).toBe(false);
    });

    it('leaves no listener on the request however often it parks', async () => {
      const client = new AbortController();
      const ticket = ticketFor();
      for (let i = 0; i < 20; i++) {
        ticket.refresh();
        const park = gates.park(ticket, 100, client.signal);
        expect(getEventListeners(client.signal, 'abort')).toHaveLength(1);
        if (i % 2 === 0) gates.open(key);
        clock.advance(100);
        await park;
        expect(getEventListeners(client.signal, 'abort')).toHaveLength(0);
      }
    });

    it('does not wait when there is no time', async () => {
      expect(await gates.park(ticketFor(), 0, stays())).toBe(false);
      expect(clock.pendingTimers).toBe(0);
    });

    it('closes: everybody parked ends with false at once, later parks do not wait', async () => {
      const napping = ticketFor(partition('p'));
      await spin(napping, 2);
      const parks = [everyone, partition('p'), { kind: 'discovery', tenant: 'tenant' } as const].map(
        (wakeKey) =>
          gates.park(
            gates.ticket(wakeKey),
            30_000,
            stays(),
            wakeKey.kind === 'queue' ? () => true : undefined,
          ),
      );
      parks.push(gates.park(napping, 30_000, stays()));
      gates.closeAll();
      runTurns();
      expect(await Promise.all(parks)).toEqual([false, false, false, false]);
      expect(await gates.park(ticketFor(), 30_000, stays())).toBe(false);
      expect(gates.isClosed).toBe(true);
      expect(gates.stats().parked).toBe(0);
      expect(clock.pendingTimers).toBe(0);
    });

    it('wakes everybody when a switch is flipped, also those a quiet ring would leave parked', async () => {
      const wary = ticketFor();
      await spin(wary, 2);
      const parks = [
        gates.park(wary, 30_000, stays(), () => true),
        gates.park(ticketFor(partition('p')), 30_000, stays()),
        gates.park(gates.ticket({ kind: 'discovery', tenant: 'tenant' }), 30_000, stays()),
      ];
      gates.wakeAll();
      runTurns();
      expect(await Promise.all(parks)).toEqual([true, true, true]);
    });
  });

  describe('gates come and go with their tickets', () => {
    it('makes no gate for a queue nobody polls', () => {
      gates.open(key, 'p1');
      expect(gates.stats()).toMatchObject({ gates: 0, openings: 0 });
      expect(gates.drainHints(key, 10)).toEqual([]);
    });

    it('keeps a gate, its number and its hints while one ticket is left', () => {
      const first = ticketFor();
      const second = ticketFor(partition('p'));
      gates.open(key, 'p1');
      first[Symbol.dispose]();
      first[Symbol.dispose]();
      expect(gates.stats().gates).toBe(1);
      expect(gates.drainHints(key, 10)).toEqual(['p1']);
      second[Symbol.dispose]();
      expect(gates.stats().gates).toBe(0);
    });

    it('holds nothing for invented names after their requests', () => {
      for (let i = 0; i < 10_000; i++) {
        using _queue = gates.ticket({ kind: 'queue', key: queueKey('tenant', `invented ${i}`) });
        using _partition = ticketFor(partition(`invented ${i}`));
        using _discovery = gates.ticket({ kind: 'discovery', tenant: `invented ${i}` });
      }
      expect(gates.stats().gates).toBe(0);
    });

    it('finds a gate made anew after the old one went', async () => {
      ticketFor()[Symbol.dispose]();
      const park = gates.park(ticketFor(), 1_000, stays());
      gates.open(key);
      expect(await park).toBe(true);
    });
  });

  /** Uses up the allowance of a ticket: `count` wakes with no time between them. */
  async function spin(ticket: WakeTicket, count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      ticket.refresh();
      const park = gates.park(ticket, 1_000, stays());
      gates.wakeAll();
      runTurns();
      await park;
    }
  }

  describe('restraint', () => {
    it('answers one opening during a look at once, the next after 5 ms', async () => {
      const ticket = ticketFor();
      ticket.refresh();
      gates.open(key);
      expect(await gates.park(ticket, 1_000, stays())).toBe(true);
      ticket.refresh();
      gates.open(key);
      const second = follow(gates.park(ticket, 1_000, stays()));
      clock.advance(4.9);
      await settled();
      expect(second.answer).toBeNull();
      clock.advance(0.1);
      await settled();
      expect(second.answer).toBe(true);
    });

    it.each([
      ['for a partition of its own', partition('mine'), 'mine'],
      ['across the queue without a ring', everyone, 'other'],
    ])(
      'does not spin a pop %s on a hot queue: at most 200 looks a second',
      async (_name, wakeKey, pushed) => {
        let looks = 0;
        let running = true;
        const poll = async () => {
          using ticket = gates.ticket(wakeKey);
          while (running) {
            ticket.refresh();
            looks += 1;
            gates.open(key, pushed); // the push that meets the look
            await gates.park(ticket, 1_000, stays());
          }
        };
        const polling = poll();
        for (let i = 0; i < 2_000; i++) {
          gates.open(key, pushed);
          await settled();
          runTurns();
          clock.advance(0.5);
        }
        expect(looks).toBeLessThanOrEqual(202);
        expect(looks).toBeGreaterThan(150); // held back, not put to sleep
        running = false;
        gates.closeAll();
        runTurns();
        await polling;
      },
    );

    it('counts wakes that brought nothing', async () => {
      const ticket = ticketFor();
      for (let i = 0; i < 3; i++) {
        const park = gates.park(ticket, 100, stays());
        gates.open(key);
        await park;
        ticket.refresh();
        clock.advance(20);
      }
      expect(gates.stats()).toMatchObject({ woken: 3, useless: 2 });
    });

    it('gives a pop its allowance back while it sleeps', async () => {
      const ticket = ticketFor();
      await spin(ticket, 2);
      ticket.refresh();
      const sleeping = gates.park(ticket, 100, stays());
      clock.advance(100);
      expect(await sleeping).toBe(false);
      ticket.refresh();
      const park = follow(gates.park(ticket, 1_000, stays()));
      gates.open(key);
      await settled();
      expect(park.answer).toBe(true);
    });
  });

  describe('with a ring that speaks for the pop', () => {
    it('looks again at once when work is there already, asked in the turn of the registration', async () => {
      let asked = 0;
      const park = gates.park(ticketFor(), 1_000, stays(), () => {
        asked += 1;
        return false;
      });
      expect(asked).toBe(1);
      expect(await park).toBe(true);
      expect(clock.pendingTimers).toBe(0);
    });

    it('burns through false positives eight looks at a time, with 5 ms between the runs', async () => {
      const ticket = ticketFor();
      const ready = () => false;
      for (let i = 0; i < 8; i++) expect(await gates.park(ticket, 1_000, stays(), ready)).toBe(true);
      const ninth = follow(gates.park(ticket, 1_000, stays(), ready));
      await settled();
      expect(ninth.answer).toBeNull();
      clock.advance(5);
      await settled();
      expect(ninth.answer).toBe(true);
      expect(await gates.park(ticket, 1_000, stays(), ready)).toBe(true);
    });

    it('sleeps on after a pause when the ring has fallen quiet meanwhile', async () => {
      const ticket = ticketFor();
      let quiet = false;
      for (let i = 0; i < 8; i++) await gates.park(ticket, 1_000, stays(), () => quiet);
      const ninth = follow(gates.park(ticket, 100, stays(), () => quiet));
      quiet = true;
      clock.advance(99);
      await settled();
      expect(ninth.answer).toBeNull();
      clock.advance(1);
      await settled();
      expect(ninth.answer).toBe(false);
    });

    it('is woken by an opening although the ring is quiet: a reseed may be due, or a group was reset', async () => {
      const park = gates.park(ticketFor(), 1_000, stays(), () => true);
      gates.open(key);
      expect(await park).toBe(true);
    });

    it('is not woken in vain over and over, but at once when there is work', async () => {
      let quiet = true;
      const ticket = ticketFor();
      await spin(ticket, 2);
      const park = follow(gates.park(ticket, 1_000, stays(), () => quiet));
      for (let i = 0; i < 100; i++) gates.open(key);
      runTurns();
      await settled();
      expect(park.answer).toBeNull();
      quiet = false;
      gates.open(key);
      runTurns();
      await settled();
      expect(park.answer).toBe(true);
    });

    it('takes no answer for "cannot tell": such a pop is held back 5 ms, not left asleep', async () => {
      const ticket = ticketFor();
      await spin(ticket, 2);
      ticket.refresh();
      gates.open(key);
      const park = follow(gates.park(ticket, 1_000, stays(), () => undefined));
      clock.advance(5);
      await settled();
      expect(park.answer).toBe(true);
    });

    it('wakes 256 of a crowd unasked, the others only while there is work left, none of them twice', async () => {
      let ready = false;
      const parks = Array.from({ length: 1_000 }, () =>
        follow(gates.park(ticketFor(), 1_000, stays(), () => !ready)),
      );
      const woken = () => parks.filter((park) => park.answer).length;
      ready = true;
      gates.open(key);
      await settled();
      expect(woken()).toBe(256);
      ready = false; // the first ones took it all
      runTurns();
      await settled();
      expect(woken()).toBe(256);
      expect(gates.stats().parked).toBe(744);

      ready = true;
      gates.open(key); // who was left is there for the next opening
      runTurns();
      await settled();
      expect(woken()).toBe(1_000);
      expect(gates.stats()).toMatchObject({ parked: 0, woken: 1_000 });
    });
  });

  describe('twenty thousand waiters', () => {
    it('wakes them oldest first, at most 256 a turn, each once', async () => {
      const order: number[] = [];
      const parks = Array.from({ length: 20_000 }, (_, i) =>
        gates.park(ticketFor(), 1_000, stays()).then((woken) => {
          if (woken) order.push(i);
        }),
      );
      gates.open(key);
      const first = gates.stats().woken;
      const perTurn = runTurns();
      await Promise.all(parks);
      expect(first).toBe(256);
      expect(Math.max(...perTurn)).toBe(256);
      expect(order).toEqual(Array.from({ length: 20_000 }, (_, i) => i));
      expect(gates.stats()).toMatchObject({ parked: 0, woken: 20_000 });
      expect(clock.pendingTimers).toBe(0);
    });

    it('does not let one queue with many waiters hold up the wakes of another', async () => {
      for (let i = 0; i < 5_000; i++) void gates.park(ticketFor(), 1_000, stays());
      const other = queueKey('tenant', 'small');
      const small = follow(gates.park(gates.ticket({ kind: 'queue', key: other }), 1_000, stays()));
      gates.open(key);
      gates.open(other);
      turns.shift()?.();
      turns.shift()?.();
      await settled();
      expect(small.answer).toBe(true);
      expect(gates.stats().parked).toBeGreaterThan(4_000);
      runTurns();
    });

    it('opens one partition without waking those who look at a ring', async () => {
      const one = follow(
        gates.park(gates.ticket({ kind: 'partition', key, partition: 'p' }), 1_000, stays()),
      );
      const everyone = follow(gates.park(ticketFor(), 1_000, stays()));
      gates.openPartition(key, 'p');
      runTurns();
      await settled();
      expect([one.answer, everyone.answer]).toEqual([true, null]);
    });

    it('does not wake for an old opening who lined up after it', async () => {
      for (let i = 0; i < 600; i++) void gates.park(ticketFor(), 1_000, stays());
      gates.open(key);
      const late = follow(gates.park(ticketFor(), 1_000, stays()));
      runTurns();
      await settled();
      expect(late.answer).toBeNull();
      expect(gates.stats().parked).toBe(1);
    });
  });
});
