import { beforeEach, describe, expect, it } from '@jest/globals';
import { FakeAckLane, turn } from '../../../test/support/fake-ack-lane.js';
import { BrokerError } from '../../base/errors/broker-error.js';
import { logAckAtV1, logAckMultiV1 } from '../ack.procedures.js';
import { AckFlusher } from './ack-flusher.js';
import type { CursorMove } from './cursor-move.js';

function move(partitionId: string, batchEnd = 9, worker = 'w'): CursorMove {
  return { partitionId, group: 'g', worker, batchEnd, count: 10 };
}

let lane: FakeAckLane<CursorMove>;
let flusher: AckFlusher;

beforeEach(() => {
  lane = new FakeAckLane();
  flusher = new AckFlusher(lane.asLane, { fusion: true });
});

describe('AckFlusher', () => {
  it('sends a lone ack at once, in one statement', async () => {
    const verdict = flusher.move(move('p'));
    await lane.answer([{ ok: true }]);
    expect(await verdict).toBe('committed');
    expect(lane.procedures).toEqual([logAckMultiV1.name]);
    expect(lane.held).toBe(0);
  });

  it('sends what came during a flush in the next one, and one flush at a time', async () => {
    const first = flusher.move(move('a'));
    await turn();
    const others = ['d', 'b', 'c'].map((partition) => flusher.move(move(partition)));
    await turn();
    expect(lane.sent).toHaveLength(1);

    await lane.answerOk();
    expect(await first).toBe('committed');
    expect(lane.sent[1].map(({ partitionId }) => partitionId)).toEqual(['b', 'c', 'd']);
    await lane.answerOk();
    expect(await Promise.all(others)).toEqual(['committed', 'committed', 'committed']);
    expect(lane.heldMax).toBe(1);
    expect(flusher.stats()).toMatchObject({ flushes: 2, rows: 4, waiting: 0 });
  });

  it('holds nothing while it waits for a connection, and takes along what came meanwhile', async () => {
    lane.closed = true;
    const verdicts = ['a', 'b'].map((partition) => flusher.move(move(partition)));
    await turn();
    verdicts.push(flusher.move(move('c')));
    expect(lane.held).toBe(0);
    lane.open();
    await turn();
    expect(lane.sent).toHaveLength(1);
    expect(lane.sent[0]).toHaveLength(3);
    await lane.answerOk();
    expect(await Promise.all(verdicts)).toHaveLength(3);
  });

  it('is idle after a flush and fires again for the next ack', async () => {
    const first = flusher.move(move('a'));
    await lane.answer([{ ok: true }]);
    await first;
    const second = flusher.move(move('b'));
    await lane.answer([{ ok: true }]);
    expect(await second).toBe('committed');
  });

  it('sends at most a thousand rows at once', async () => {
    lane.closed = true;
    const verdicts = Array.from({ length: 1500 }, (_, i) => flusher.move(move(`p${i}`)));
    await turn();
    lane.open();
    await turn();
    await lane.answerOk();
    await lane.answerOk();
    expect(lane.sent.map((rows) => rows.length)).toEqual([1000, 500]);
    expect(new Set(await Promise.all(verdicts))).toEqual(new Set(['committed']));
  });

  it('rejects the row that was refused and no other', async () => {
    lane.closed = true;
    const verdicts = ['a', 'b', 'c'].map((partition) => flusher.move(move(partition)));
    await turn();
    lane.open();
    await lane.answer([{ ok: true }, { ok: false, error: 'invalid or expired lease' }, { ok: true }]);
    expect(await Promise.all(verdicts)).toEqual(['committed', 'rejected', 'committed']);
    expect(flusher.stats().rejected).toBe(1);
  });

  it('fails everybody in a flush that failed, and goes on with the next', async () => {
    const failed = ['a', 'b'].map((partition) => flusher.move(move(partition)));
    const outcomes = Promise.allSettled(failed);
    await turn();
    const later = flusher.move(move('c'));
    await lane.answer(new BrokerError('statement_timeout'));
    for (const outcome of await outcomes) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'statement_timeout' } });
    }
    await lane.answerOk();
    expect(await later).toBe('committed');
    expect(flusher.stats().failed).toBe(2);
  });

  it('fails what it could not send for want of a connection', async () => {
    lane.refusal = new BrokerError('pool', 'pool');
    await expect(flusher.move(move('a'))).rejects.toMatchObject({ code: 'pool' });
    lane.refusal = null;
    const next = flusher.move(move('b'));
    await lane.answer([{ ok: true }]);
    expect(await next).toBe('committed');
  });

  it.each([[[{ ok: true }]], [[{ ok: true }, { ok: true }, { ok: true }]], [{}]])(
    'takes no verdict from an answer that does not fit: %j',
    async (answer) => {
      lane.closed = true;
      const outcomes = Promise.allSettled(['a', 'b'].map((partition) => flusher.move(move(partition))));
      await turn();
      lane.open();
      await lane.answer(answer);
      for (const outcome of await outcomes) {
        expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'internal' } });
      }
    },
  );

  it('commits the moves of a cursor in the order they came, over ten thousand acks', async () => {
    const seen = new Map<string, number>();
    let done = 0;
    let seed = 7;
    const ends = new Map<string, number>();
    const verdicts: Promise<unknown>[] = [];
    while (done < 10_000) {
      const burst = 1 + ((seed = Math.imul(seed, 48_271) & 0x7fffffff || 1) % 400);
      for (let i = 0; i < burst; i++, done++) {
        const partition = `p${(seed = Math.imul(seed, 48_271) & 0x7fffffff || 1) % 50}`;
        const end = (ends.get(partition) ?? 0) + 1;
        ends.set(partition, end);
        verdicts.push(flusher.move(move(partition, end, `w${end}`)));
      }
      await lane.answerOk();
    }
    while (flusher.stats().waiting > 0 || lane.held > 0) await lane.answerOk();
    await Promise.all(verdicts);
    for (const rows of lane.sent) {
      for (const { partitionId, batchEnd } of rows) {
        expect(batchEnd).toBeGreaterThan(seen.get(partitionId) ?? 0);
        seen.set(partitionId, batchEnd);
      }
    }
    expect(seen).toEqual(ends);
  });

  it('sends each ack alone when fusion is off', async () => {
    flusher = new AckFlusher(lane.asLane, { fusion: false });
    const verdicts = ['a', 'b'].map((partition) => flusher.move(move(partition)));
    await lane.answer({ ok: true });
    await lane.answer({ ok: false });
    expect(await Promise.all(verdicts)).toEqual(['committed', 'rejected']);
    expect(lane.procedures).toEqual([logAckAtV1.name, logAckAtV1.name]);
    const failing = flusher.move(move('c'));
    const outcome = expect(failing).rejects.toMatchObject({ code: 'statement_timeout' });
    await lane.answer(new BrokerError('statement_timeout'));
    await outcome;
    expect(flusher.stats()).toMatchObject({ flushes: 3, rejected: 1, failed: 1 });
  });
});
