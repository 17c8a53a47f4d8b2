import { beforeEach, describe, expect, it } from '@jest/globals';
import { FakeAckLane, turn } from '../../../test/support/fake-ack-lane.js';
import { BrokerError } from '../../base/errors/broker-error.js';
import { SqlStatementError } from '../../raw-sql/sql-failure.js';
import {
  logAckByHashMultiV1,
  logAckByHashV1,
  type AckOutcome,
  type HashCompletion,
} from '../ack.procedures.js';
import { HashAckFlusher } from './hash-ack-flusher.js';

function completion(partitionId: string, messages = 1): HashCompletion {
  return { partitionId, group: 'g', worker: 'w', hashes: Buffer.alloc(16 * messages) };
}

const acked = (off = 0): AckOutcome => ({
  ...{ ok: true, acked: 1, off, noopHashes: [], staleHashes: [], unresolvedHashes: [] },
});
const refusal = () => new SqlStatementError('22P02', 'no uuid', undefined);

let lane: FakeAckLane<HashCompletion>;
let flusher: HashAckFlusher;

/** All go into the first flush. */
function together(...partitions: string[]): Promise<AckOutcome>[] {
  lane.closed = true;
  return partitions.map((partition) => flusher.settle(completion(partition)));
}

beforeEach(() => {
  lane = new FakeAckLane();
  flusher = new HashAckFlusher(lane.asLane, { fusion: true });
});

describe('HashAckFlusher', () => {
  it('sends a lone ack at once, as it always was', async () => {
    const outcome = flusher.settle(completion('p'));
    await lane.answer(acked());
    expect(await outcome).toEqual(acked());
    expect(lane.procedures).toEqual([logAckByHashV1.name]);
    expect(lane.held).toBe(0);
  });

  it('sends what came during two flushes in the next one', async () => {
    const first = ['a', 'b'].map((partition) => flusher.settle(completion(partition)));
    await turn();
    const others = ['c', 'd', 'e'].map((partition) => flusher.settle(completion(partition)));
    await turn();
    // The first statement took both that had come by then; the second flight had nothing left and took the others.
    expect(lane.procedures).toEqual([logAckByHashMultiV1.name, logAckByHashMultiV1.name]);
    expect(lane.heldMax).toBe(2);
    const late = flusher.settle(completion('f'));
    await turn();
    expect(lane.sent).toHaveLength(2);

    await lane.answer([acked(1), acked(2)]);
    expect(await Promise.all(first)).toEqual([acked(1), acked(2)]);
    await lane.answer([acked(3), acked(4), acked(5)]);
    expect(await Promise.all(others)).toEqual([acked(3), acked(4), acked(5)]);
    await lane.answer(acked(6));
    expect(await late).toEqual(acked(6));
    expect(flusher.stats()).toEqual({ flushes: 3, rows: 6, waiting: 0 });
  });

  it('takes no more into a flush than can be looked up soon, and one large ack all the same', async () => {
    lane.closed = true;
    const outcomes = [4000, 1000, 1, 9000].map((messages, i) =>
      flusher.settle(completion(`p${i}`, messages)),
    );
    await turn();
    lane.open();
    await turn();
    await lane.answer(acked());
    await lane.answer([acked(), acked()]);
    await lane.answer(acked());
    await Promise.all(outcomes);
    expect(lane.procedures).toEqual([logAckByHashV1.name, logAckByHashMultiV1.name, logAckByHashV1.name]);
  });

  it('gives each its outcome, whatever that of the others is', async () => {
    const outcomes = Promise.allSettled(together('a', 'b', 'c'));
    lane.open();
    const rejected: AckOutcome = { ok: false, error: 'invalid or expired lease' };
    await lane.answer([acked(), rejected, acked(2 ** 53)]);
    expect(await outcomes).toMatchObject([
      { value: acked() },
      { value: rejected },
      { reason: { code: 'offset_too_large' } },
    ]);
  });

  it('sends each alone when PostgreSQL refuses them together, and only the one it is about fails', async () => {
    const outcomes = Promise.allSettled(together('a', 'bad', 'c'));
    lane.open();
    await lane.answer(refusal());
    await lane.answer(acked(1));
    await lane.answer(refusal());
    await lane.answer(acked(3));
    expect(await outcomes).toMatchObject([
      { value: acked(1) },
      { reason: { code: 'sql_failed' } },
      { value: acked(3) },
    ]);
    expect(lane.procedures.slice(1)).toEqual(Array(3).fill(logAckByHashV1.name));
  });

  it('sends each alone after a timeout, so that the one that is slow fails alone', async () => {
    const outcomes = Promise.allSettled(together('a', 'slow', 'c'));
    lane.open();
    await lane.answer(new BrokerError('statement_timeout'));
    const late = flusher.settle(completion('d'));
    await lane.answer(acked(1));
    await lane.answer(new BrokerError('statement_timeout'));
    await lane.answer(acked(3));
    await lane.answer(acked(4));
    expect(await outcomes).toMatchObject([
      { value: acked(1) },
      { reason: { code: 'statement_timeout' } },
      { value: acked(3) },
    ]);
    expect(await late).toEqual(acked(4));
    expect(lane.procedures.slice(1)).toEqual(Array(4).fill(logAckByHashV1.name));
    expect(flusher.stats().waiting).toBe(0);
  });

  it('fails all when the connection is lost, at whatever point, and goes on with the next', async () => {
    const outcomes = Promise.allSettled(together('a', 'b'));
    lane.open();
    await lane.answer(new BrokerError('database_unavailable'));
    const lost = { reason: { code: 'database_unavailable' } };
    expect(await outcomes).toMatchObject([lost, lost]);

    const others = Promise.allSettled(together('c', 'd', 'e'));
    lane.open();
    await lane.answer(refusal());
    await lane.answer(acked());
    await lane.answer(new BrokerError('database_unavailable'));
    expect(await others).toMatchObject([{ value: acked() }, lost, lost]);
    expect(lane.sent).toHaveLength(4);

    const next = flusher.settle(completion('f'));
    await lane.answer(acked());
    expect(await next).toEqual(acked());
  });

  it('takes fewer of one request when acks do not share statements', () => {
    expect(flusher.groupsOfARequestMax).toBe(200);
    expect(new HashAckFlusher(lane.asLane, { fusion: false }).groupsOfARequestMax).toBe(8);
  });

  it('fails those that wait when there is no permit or no connection', async () => {
    lane.refusal = new BrokerError('pool');
    const outcomes = await Promise.allSettled(together('a', 'b').concat((lane.open(), [])));
    expect(outcomes).toMatchObject([{ reason: { code: 'pool' } }, { reason: { code: 'pool' } }]);
    expect(flusher.stats().waiting).toBe(0);
  });

  it('refuses when too much waits, and is open again afterwards', async () => {
    lane.closed = true;
    const outcomes = Promise.allSettled([
      flusher.settle(completion('a', 300_000)),
      flusher.settle(completion('b', 200_000)),
    ]);
    await expect(flusher.settle(completion('c'))).rejects.toMatchObject({ code: 'overloaded' });
    lane.open();
    await lane.answer(acked());
    await lane.answer(acked());
    expect(await outcomes).toMatchObject([{ value: acked() }, { value: acked() }]);
    const again = flusher.settle(completion('c'));
    await lane.answer(acked());
    expect(await again).toEqual(acked());
  });

  it('sends each by itself when acks shall not share commits', async () => {
    flusher = new HashAckFlusher(lane.asLane, { fusion: false });
    const outcomes = ['a', 'b'].map((partition) => flusher.settle(completion(partition)));
    await lane.answer(acked(1));
    await lane.answer(acked(2));
    expect(await Promise.all(outcomes)).toEqual([acked(1), acked(2)]);
    expect(lane.procedures).toEqual([logAckByHashV1.name, logAckByHashV1.name]);
  });
});
