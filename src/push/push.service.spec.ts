import { describe, expect, it } from '@jest/globals';
import { item, pushBench, settled } from '../../test/support/push.js';
import { BrokerError } from '../base/errors/broker-error.js';
import { DEFAULT_TENANT } from '../base/names/names.js';
import type { QueueEncryption } from '../encryption/queue-encryption.js';
import { decodeSegment, MAX_RAW_BYTES } from '../segment/segment.js';
import { uuidText } from '../segment/uuid-v7.js';
import type { PushResult } from './push-message.js';

const statuses = (results: PushResult[]) => results.map(({ status }) => status);
const ids = (results: PushResult[]) => results.map(({ resultId }) => uuidText(resultId));
const problem = { code: 'bad_name', error: 'partition must not hold U+0000' } as const;

describe('PushService', () => {
  it('answers an empty push without touching anything', async () => {
    const { push, log } = pushBench();
    expect(await push([])).toEqual([]);
    expect(log.flushes).toEqual([]);
  });

  it('stores items in request order, grouped by queue and partition, and answers in request order', async () => {
    const { push, log } = pushBench();
    const results = await push([
      { partition: 'a', transactionId: 't0' },
      { partition: 'b', transactionId: 't1' },
      { partition: 'a', transactionId: 't2' },
      { queue: 'other', partition: 'a', transactionId: 't3' },
      { partition: 'a', transactionId: 't4' },
    ]);
    expect(statuses(results)).toEqual(Array(5).fill('queued'));
    expect(results.map(({ transactionId }) => transactionId.toString())).toEqual([
      't0',
      't1',
      't2',
      't3',
      't4',
    ]);
    expect(log.stored('q', 'a')).toEqual(['t0', 't2', 't4']);
    expect(log.stored('q', 'b')).toEqual(['t1']);
    expect(log.stored('other', 'a')).toEqual(['t3']);
    expect(log.flushes).toHaveLength(1);
  });

  it('keeps apart names that look alike once they are put together', async () => {
    const { push, log } = pushBench();
    await push([
      { queue: 'a', partition: 'bc', transactionId: 'x' },
      { queue: 'ab', partition: 'c', transactionId: 'x' },
      { queue: 'a\u001fb', partition: 'c', transactionId: 'x' },
      { queue: 'a', partition: 'b\u001fc', transactionId: 'x' },
    ]);
    expect(new Set(log.flushes[0]).size).toBe(4);
  });

  it('gives a message without transactionId its own id as one, and never the same twice', async () => {
    const { push, log } = pushBench();
    const results = await push(Array.from({ length: 100 }, () => ({})));
    expect(new Set(ids(results)).size).toBe(100);
    expect(results.map(({ transactionId }) => transactionId.toString())).toEqual(ids(results));
    expect(log.stored('q', 'p')).toEqual(ids(results));
  });

  it('stores every field as it came', async () => {
    const { push, log } = pushBench();
    const traceId = Buffer.from('0123456789abcdef');
    let blob = Buffer.alloc(0);
    log.failure = ([segment]) => void (blob = Buffer.from(segment.blob));
    const [result] = await push([
      { payload: Buffer.from('{"n": 1e400}'), headers: Buffer.from('{"k":"v"}'), traceId, transactionId: '' },
    ]);
    const [frame] = decodeSegment(blob, 1).frames();
    expect(frame.payload.toString()).toBe('{"n": 1e400}');
    expect(frame.headers?.toString()).toBe('{"k":"v"}');
    expect(frame.traceId).toEqual(traceId);
    expect(frame.transactionId).toHaveLength(0);
    expect(frame.messageId).toEqual(result.resultId);
  });

  describe('repetitions inside a request', () => {
    it('follow the first one of their partition', async () => {
      const { push, log } = pushBench();
      const results = await push([
        { transactionId: 'x' },
        { transactionId: 'y' },
        { transactionId: 'x' },
        { transactionId: 'x', partition: 'elsewhere' },
        { transactionId: 'x' },
      ]);
      expect(statuses(results)).toEqual(['queued', 'queued', 'duplicate', 'queued', 'duplicate']);
      const all = ids(results);
      expect([all[2], all[4]]).toEqual([all[0], all[0]]);
      expect(all[3]).not.toBe(all[0]);
      expect(log.stored('q', 'p')).toEqual(['x', 'y']);
    });

    it('take the empty transactionId for a key like any other', async () => {
      const { push } = pushBench();
      expect(statuses(await push([{ transactionId: '' }, { transactionId: '' }]))).toEqual([
        'queued',
        'duplicate',
      ]);
    });

    it('show the stored original when their leader is a duplicate itself', async () => {
      const { push } = pushBench();
      const [original] = ids(await push([{ transactionId: 'x' }]));
      const again = await push([{ transactionId: 'x' }, { transactionId: 'x' }]);
      expect(statuses(again)).toEqual(['duplicate', 'duplicate']);
      expect(ids(again)).toEqual([original, original]);
    });

    it('inherit the failure of their leader', async () => {
      const { push, log } = pushBench();
      const broken = new BrokerError('database_unavailable');
      log.failure = (segments) => (segments.some(({ target }) => target.partition === 'bad') ? broken : null);
      await expect(
        push([
          { partition: 'bad', transactionId: 'x' },
          { partition: 'bad', transactionId: 'x' },
        ]),
      ).rejects.toBe(broken);
    });
  });

  describe('items that cannot be stored', () => {
    it('fail in their place while the others are stored', async () => {
      const { push, log } = pushBench();
      const items = Array.from({ length: 100 }, (_, n) => ({
        transactionId: `t${n}`,
        problem: n === 50 ? problem : null,
      }));
      const results = await push(items);
      expect(statuses(results).filter((status) => status === 'queued')).toHaveLength(99);
      expect(results[50]).toMatchObject({
        status: 'failed',
        transactionId: 't50',
        failure: { code: problem.code, message: problem.error },
      });
      expect(log.stored('q', 'p')).toEqual(
        items.map(({ transactionId }) => transactionId).filter((t) => t !== 't50'),
      );
      expect(statuses(await push(items)).filter((status) => status === 'duplicate')).toHaveLength(99);
    });

    it('do not fail the request when there is nothing else in it', async () => {
      const { push, log } = pushBench();
      expect(statuses(await push([{ problem }, { problem }]))).toEqual(['failed', 'failed']);
      expect(log.flushes).toEqual([]);
    });

    it('include a message that no segment can hold', async () => {
      const { push } = pushBench();
      const results = await push([{ payload: Buffer.alloc(MAX_RAW_BYTES) }, { payload: Buffer.from('1') }]);
      expect(results[0]).toMatchObject({ status: 'failed', failure: { code: 'body_too_large' } });
      expect(results[1].status).toBe('queued');
    });
  });

  describe('when the database fails', () => {
    it('throws its error when nothing was stored, refused items or not', async () => {
      const { push, log } = pushBench();
      const broken = new BrokerError('pool', 'pool');
      log.failure = () => broken;
      await expect(push([{}, { partition: 'b' }])).rejects.toBe(broken);
      await expect(push([{}, { problem }])).rejects.toBe(broken);
    });

    it('fails the items it hit in their place when others were stored', async () => {
      const { push, log } = pushBench({ bundlePartitionsMax: 1 });
      const broken = new BrokerError('statement_timeout');
      log.failure = ([{ target }]) => (target.partition === 'bad' ? broken : null);
      const results = await push([{ partition: 'bad' }, { partition: 'good' }, { partition: 'bad' }]);
      expect(statuses(results)).toEqual(['failed', 'queued', 'failed']);
      expect(results[0].failure).toMatchObject({ code: 'statement_timeout', message: broken.message });
    });

    it('counts a duplicate as stored', async () => {
      const { push, log } = pushBench({ bundlePartitionsMax: 1 });
      await push([{ transactionId: 'x' }]);
      log.failure = ([{ target }]) => (target.partition === 'bad' ? new BrokerError('pool') : null);
      expect(statuses(await push([{ partition: 'bad' }, { transactionId: 'x' }]))).toEqual([
        'failed',
        'duplicate',
      ]);
    });
  });

  describe('memory', () => {
    it('refuses a push that does not fit beside those that wait, with 503', async () => {
      const { push, log, service } = pushBench({ bufferBytesMax: 10_000 });
      const release = log.hold();
      const first = push([{ payload: Buffer.alloc(8_000, 0x31) }]);
      await settled();
      expect(service.stats().bufferedBytes).toBeGreaterThan(8_000);
      await expect(push([{ payload: Buffer.alloc(2_000, 0x31) }])).rejects.toMatchObject({
        code: 'overloaded',
        status: 503,
        retryAfterSeconds: 1,
      });
      release();
      await first;
      expect(service.stats().bufferedBytes).toBe(0);
      expect(statuses(await push([{ payload: Buffer.alloc(2_000, 0x31) }]))).toEqual(['queued']);
    });

    it('lets one push of any size in when none waits', async () => {
      const { push } = pushBench({ bufferBytesMax: 10 });
      expect(statuses(await push([{ payload: Buffer.alloc(8_000, 0x31) }]))).toEqual(['queued']);
    });

    it('is given back when the push fails', async () => {
      const { push, log, service } = pushBench();
      log.failure = () => new BrokerError('pool');
      await expect(push([{}])).rejects.toThrow();
      expect(service.stats().bufferedBytes).toBe(0);
    });
  });

  describe('encryption', () => {
    const encryption = (seal: (payload: Buffer) => Buffer) =>
      ({
        isIdle: false,
        seals: (tenant: string, queue: string) => tenant === DEFAULT_TENANT && queue === 'secret',
        seal,
      }) as unknown as QueueEncryption;
    const marked = encryption((payload) => Buffer.concat([Buffer.from('sealed '), payload]));

    it('seals what goes to an encrypted queue, and nothing else', async () => {
      const { push, log } = pushBench({ encryption: marked });
      const payload = Buffer.from('1');
      const results = await push([
        { queue: 'secret', payload, transactionId: 't' },
        { queue: 'q', payload },
        { queue: 'secret', payload, transactionId: 't' },
        { queue: 'secret', payload, problem },
      ]);
      expect(statuses(results)).toEqual(['queued', 'queued', 'duplicate', 'failed']);
      expect([log.payloads('secret', 'p'), log.payloads('q', 'p')]).toEqual([['sealed 1'], ['1']]);
    });

    it('counts the envelopes as memory beside the body', async () => {
      const { push, log, service } = pushBench({ encryption: marked });
      const release = log.hold();
      const bytes = 3_000_000;
      const plain = push([{ payload: Buffer.alloc(bytes, 0x31) }]);
      await settled();
      const before = service.stats().bufferedBytes;
      const sealed = push([{ queue: 'secret', payload: Buffer.alloc(bytes, 0x31) }]);
      await settled();
      expect(service.stats().bufferedBytes - before).toBeGreaterThan(before + bytes);
      release();
      await Promise.all([plain, sealed]);
      expect(service.stats().bufferedBytes).toBe(0);
    });

    it('lets others run while it seals', async () => {
      let turns = 0;
      const sealedIn: number[] = [];
      const { service } = pushBench({
        encryption: encryption((payload) => {
          sealedIn.push(turns);
          return payload;
        }),
      });
      const items = Array.from({ length: 2_000 }, () => item({ queue: 'secret' }));
      let isDone = false;
      const watch = () => {
        turns += 1;
        if (!isDone) setImmediate(watch);
      };
      setImmediate(watch);
      await service.push({ items }, { tenant: DEFAULT_TENANT, bodyBytes: 1, producerSub: null });
      isDone = true;
      expect(new Set(sealedIn).size).toBeGreaterThan(5);
    });
  });

  it('lets others run while it sorts a large request', async () => {
    const { service } = pushBench();
    const items = Array.from({ length: 20_000 }, (_, n) =>
      item({ partition: `p${n % 3_000}`, transactionId: `t${n}` }),
    );
    let turns = 0;
    let isDone = false;
    const watch = () => {
      turns += 1;
      if (!isDone) setImmediate(watch);
    };
    setImmediate(watch);
    const results = await service.push(
      { items },
      { tenant: DEFAULT_TENANT, bodyBytes: 1, producerSub: null },
    );
    isDone = true;
    expect(results.every(({ status }) => status === 'queued')).toBe(true);
    expect(turns).toBeGreaterThan(10);
  });

  it('counts requests, items and what became of them', async () => {
    const { push, service } = pushBench();
    await push([{ transactionId: 'x' }, { transactionId: 'x' }, { problem }, {}]);
    await push([{ transactionId: 'x' }]);
    expect(service.stats()).toMatchObject({
      requests: 2,
      messages: 5,
      duplicates: 2,
      failed: 1,
      flushes: 2,
      flushedPartitions: 2,
      flushedMessages: 3,
      inFlight: 0,
      partitions: 0,
    });
  });
});
