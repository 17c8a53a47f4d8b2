import { describe, expect, it } from '@jest/globals';
import { auditRing, newHotlist } from '../../test/support/hotlist.js';
import { EntryPage } from './entry-table.js';

const key = 't\u001fq';
const million = 1_000_000;

describe('very many partitions', () => {
  it('(a million) are marked, taken in order and checked in', () => {
    const { hotlist, openings } = newHotlist();
    hotlist.registerRing(key, 'g');
    for (let n = 0; n < million; n++) hotlist.offer(key, `p${n}`, 1);
    expect(hotlist.stats()).toMatchObject({
      partitions: million,
      entries: { ready: million, wheel: 0, inflight: 0 },
      readySources: { mark: million },
    });
    expect(openings).toEqual([]);

    const names = hotlist.checkOut(key, 'g', { k: 256, want: 200 });
    expect(names.list).toEqual(Array.from({ length: 200 }, (_, n) => `p${n}`));
    names.checkIn(
      names.list.map((partition) => ({ partition, state: 'took' as const, drained: true })),
      { autoAck: true, leaseMs: 0 },
    );
    expect(hotlist.stats().entries).toEqual({ ready: million - 200, wheel: 0, inflight: 0 });
    expect(auditRing(hotlist['book'].ring(key, 'g')!, million)).toEqual([]);
  });

  it('leave the wheel five thousand a turn', () => {
    const { hotlist, clock } = newHotlist();
    hotlist.registerRing(key, 'g');
    hotlist.setConfig(key, { delayedMs: 0, windowMs: 1000, minPopWaitMs: 0 });
    for (let n = 0; n < 100_000; n++) hotlist.offer(key, `p${n}`, 1);
    clock.advance(1000);
    expect(hotlist.promoteDue()).toBe(5000);
    expect(hotlist.checkOut(key, 'g', { k: 1, want: 1 }).list).toHaveLength(1);
    expect(hotlist.stats().entries).toEqual({ ready: 9999, wheel: 90_000, inflight: 1 });
  });

  it('come in by a reseed a thousand a turn, and the first page serves at once', async () => {
    const { hotlist } = newHotlist();
    hotlist.registerRing(key, 'g');
    const walk = hotlist.beginReseed(key, 'g')!;
    const pageRows = 5000;
    let turns = 0;
    let isDone = false;
    let largestTurn = 0;
    const observe = (async () => {
      for (let seen = 0; !isDone; turns++) {
        const { ready } = hotlist.stats().entries;
        largestTurn = Math.max(largestTurn, ready - seen);
        seen = ready;
        await new Promise(setImmediate);
      }
    })();
    for (let from = 0; from < 100_000; from += pageRows) {
      await walk.apply(
        Array.from({ length: pageRows }, (_, n) => ({
          id: `018f3a52-7b1c-7def-8abc-${(from + n).toString(16).padStart(12, '0')}`,
          name: `p${from + n}`,
        })),
      );
      if (from === 0) expect(hotlist.hasReady(key, 'g')).toBe(true);
    }
    walk.finish(true);
    isDone = true;
    await observe;
    expect(hotlist.stats().entries.ready).toBe(100_000);
    // A page's last slice and the next page's first share a turn: nothing is between two pages here.
    expect(largestTurn).toBeLessThanOrEqual(2000);
    expect(turns).toBeGreaterThan(60);
  });

  it('cost 44 bytes an entry and no object', () => {
    const page = new EntryPage(8192);
    expect(page.state.buffer.byteLength).toBe(8192 * 44);
    expect(page.drained.buffer).toBe(page.readySinceMs.buffer);
  });
});
