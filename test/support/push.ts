import { Logger } from '@nestjs/common';
import { ManualClock } from '../../src/base/clock/manual-clock.js';
import { DEFAULT_TENANT } from '../../src/base/names/names.js';
import { splitQueueKey } from '../../src/base/queue-key.js';
import type { HotlistService } from '../../src/hotlist/hotlist.service.js';
import { defaultLimiterOptions } from '../../src/limiter/limiter.options.js';
import { LimiterService } from '../../src/limiter/limiter.service.js';
import { BundleSender } from '../../src/push/flush/bundle-sender.js';
import { Flusher } from '../../src/push/flush/flusher.js';
import { Originals } from '../../src/push/flush/originals.js';
import type { PushItem } from '../../src/push/push-item.js';
import type { PushResult } from '../../src/push/push-message.js';
import type { PushOptions } from '../../src/push/push.options.js';
import type {
  OriginalsArgs,
  PushSegmentArgs,
  PushVerdict,
  StoredSegment,
} from '../../src/push/push.procedures.js';
import { logOriginalsV1, logPushMultiV1 } from '../../src/push/push.procedures.js';
import { PushService } from '../../src/push/push.service.js';
import type { SqlConnection } from '../../src/raw-sql/connection-lease.js';
import type { Procedure } from '../../src/raw-sql/procedure.js';
import type { RawSqlService } from '../../src/raw-sql/raw-sql.service.js';
import type { Frame } from '../../src/segment/frame.js';
import { decodeSegment } from '../../src/segment/segment.js';
import { HASH_BYTES } from '../../src/segment/transaction-hash.js';
import { uuidText } from '../../src/segment/uuid-v7.js';

type FakeSegment = Omit<StoredSegment, 'index'>;

/** The push procedures over arrays: same verdicts, all or nothing per call, and a way to hold, fail and watch calls. */
export class FakeLog {
  /** Segments of every push call that arrived, as queue/partition. */
  readonly flushes: string[][] = [];
  readonly verified: number[] = [];
  originalsCalls = 0;
  connections = 0;
  connectionsMost = 0;
  /** Throws what this returns, before anything is written. */
  failure: (segments: readonly PushSegmentArgs[]) => Error | null | undefined = () => null;
  /** Runs before a look for originals; what it throws is the call's failure. */
  beforeOriginals: () => void | Promise<void> = () => undefined;
  /** Before a push statement gets its connection. */
  onConnect: () => void = () => undefined;
  private readonly partitions = new Map<string, FakeSegment[]>();
  private readonly nextOffset = new Map<string, number>();
  private readonly offsetsByHash = new Map<string, Map<string, number>>();
  private gate: { opened: Promise<void>; open: () => void } | null = null;

  /** Push calls wait from now on, until the result is called; it lets those that came meanwhile go. */
  hold(): () => void {
    let open!: () => void;
    const opened = new Promise<void>((resolve) => (open = resolve));
    const gate = { opened, open };
    this.gate = gate;
    return () => {
      if (this.gate === gate) this.gate = null;
      open();
    };
  }

  /** transactionIds in offset order. */
  stored(queue: string, partition: string): string[] {
    return this.frames(queue, partition).map(({ transactionId }) => transactionId.toString());
  }

  storedIds(queue: string, partition: string): string[] {
    return this.frames(queue, partition).map(({ messageId }) => uuidText(messageId));
  }

  payloads(queue: string, partition: string): string[] {
    return this.frames(queue, partition).map(({ payload }) => payload.toString());
  }

  /** Frames per stored segment. */
  segmentSizes(queue: string, partition: string): number[] {
    return this.segments(`${queue}/${partition}`).map(({ base, end }) => end - base + 1);
  }

  /** As retention does: the hashes stay, the messages go. */
  dropSegments(queue: string, partition: string): void {
    this.segments(`${queue}/${partition}`).length = 0;
  }

  /** As deleting a queue and filling it anew does: other messages at the offsets of the old ones. */
  replaceSegments(queue: string, partition: string, by: string): void {
    this.partitions.set(`${queue}/${partition}`, this.segments(`${queue}/${by}`));
  }

  /** Flips a bit in each stored blob. */
  damage(queue: string, partition: string): void {
    for (const { blob } of this.segments(`${queue}/${partition}`)) blob[blob.length - 1] ^= 1;
  }

  /** What RawSqlService offers to push. */
  get rawSql(): RawSqlService {
    const connection: SqlConnection = {
      call: async <Args, Row>(procedure: Procedure<Args, Row>, args: Args) => {
        procedure.values(args); // laid out as for the real server: what cannot be, throws
        if ((procedure as unknown) !== logOriginalsV1) throw new Error(`unexpected ${procedure.name}`);
        return (await this.originals(args as OriginalsArgs)) as Row[];
      },
      callOne: async <Args, Row>(procedure: Procedure<Args, Row>, args: Args) => {
        procedure.values(args);
        if ((procedure as unknown) !== logPushMultiV1) throw new Error(`unexpected ${procedure.name}`);
        return (await this.push(args as readonly PushSegmentArgs[])) as Row;
      },
    };
    const lease = async <T>(run: (c: SqlConnection) => Promise<T>) => {
      this.connections += 1;
      this.connectionsMost = Math.max(this.connectionsMost, this.connections);
      try {
        return await run(connection);
      } finally {
        this.connections -= 1;
      }
    };
    const withConnection = <T>(_gone: AbortSignal | null, run: (c: SqlConnection) => Promise<T>) => {
      this.onConnect();
      return lease(run);
    };
    const call = <Args, Row>(procedure: Procedure<Args, Row>, args: Args) =>
      lease((c) => c.call(procedure, args));
    return { withConnection, call } as Partial<RawSqlService> as RawSqlService;
  }

  private async push(segments: readonly PushSegmentArgs[]): Promise<PushVerdict[]> {
    this.flushes.push(segments.map(({ target }) => `${target.queue}/${target.partition}`));
    for (const { verified } of segments) this.verified.push(verified);
    await this.gate?.opened;
    const error = this.failure(segments);
    if (error) throw error;
    return segments.map((segment) => this.pushOne(segment));
  }

  private pushOne({ target, count, hashes, verified, blob }: PushSegmentArgs): PushVerdict {
    const name = `${target.queue}/${target.partition}`;
    const known = this.offsetsByHash.get(name) ?? new Map<string, number>();
    this.offsetsByHash.set(name, known);
    const hashAt = (i: number) => hashes.toString('hex', i * HASH_BYTES, (i + 1) * HASH_BYTES);
    if (hashes.length !== count * HASH_BYTES) throw new Error('wrong stride');
    const dups: { i: number; off: number }[] = [];
    for (let i = 0; i < count; i++) {
      const off = known.get(hashAt(i));
      if (off !== undefined && off > verified) dups.push({ i, off });
    }
    if (dups.length > 0) return { status: 'duplicate', dups };
    const segments = this.segments(name);
    const base = this.nextOffset.get(name) ?? 0;
    this.nextOffset.set(name, base + count);
    segments.push({ base, end: base + count - 1, blob });
    for (let i = 0; i < count; i++) if (!known.has(hashAt(i))) known.set(hashAt(i), base + i);
    return { status: 'queued', baseOffset: base };
  }

  private async originals({ partitions, bytesMax }: OriginalsArgs): Promise<StoredSegment[]> {
    this.originalsCalls += 1;
    await this.beforeOriginals();
    const found: StoredSegment[] = [];
    let bytes = 0;
    for (const [index, { target, offsets }] of partitions.entries()) {
      for (const segment of this.segments(`${target.queue}/${target.partition}`)) {
        if (!offsets.some((offset) => offset >= segment.base && offset <= segment.end)) continue;
        found.push({ ...segment, index });
        if ((bytes += segment.blob.length) >= bytesMax) return found;
      }
    }
    return found;
  }

  private frames(queue: string, partition: string): Frame[] {
    return this.segments(`${queue}/${partition}`).flatMap(({ base, end, blob }) =>
      decodeSegment(blob, end - base + 1).frames(),
    );
  }

  private segments(name: string): FakeSegment[] {
    let segments = this.partitions.get(name);
    if (!segments) this.partitions.set(name, (segments = []));
    return segments;
  }
}

export interface Offer {
  queue: string;
  partition: string;
  count: number;
}

export interface PushBench {
  log: FakeLog;
  clock: ManualClock;
  limiter: LimiterService;
  offers: Offer[];
  flusher: Flusher;
  service: PushService;
  push(items: Partial<PushItem>[]): Promise<PushResult[]>;
}

/** The push path with real lanes over a fake log. */
export function pushBench(options: Partial<PushOptions> = {}, pushPermits = 8): PushBench {
  Logger.overrideLogger(false); // failures are half of what is tested
  const log = new FakeLog();
  const clock = new ManualClock();
  const lanes = {
    ...defaultLimiterOptions.lanes,
    push: { init: pushPermits, min: pushPermits, max: pushPermits },
  };
  const limiter = new LimiterService({ ...defaultLimiterOptions, lanes }, clock);
  const offers: Offer[] = [];
  const hotlist = {
    offer: (key: string, partition: string, count: number) =>
      void offers.push({ queue: splitQueueKey(key).queue, partition, count }),
  } as Partial<HotlistService> as HotlistService;
  const all = { bundlePartitionsMax: 64, flushesInFlightMax: 2, bufferBytesMax: 2 ** 28, ...options };
  const { rawSql } = log;
  const sender = new BundleSender(rawSql, clock);
  const flusher = new Flusher(limiter, sender, new Originals(rawSql), hotlist, all);
  const service = new PushService(flusher, clock, all);
  const push = (items: Partial<PushItem>[]) => {
    const full = items.map(item);
    const bodyBytes = full.reduce((sum, { payload }) => sum + payload.length, 0);
    return service.push({ items: full }, { tenant: DEFAULT_TENANT, bodyBytes });
  };
  return { log, clock, limiter, offers, flusher, service, push };
}

export function item(values: Partial<PushItem> = {}): PushItem {
  return {
    queue: 'q',
    partition: 'p',
    transactionId: null,
    traceId: null,
    headers: null,
    payload: Buffer.from('{"n":1}'),
    problem: null,
    ...values,
  };
}

/** Everything that is ready to run has run, including what that started. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 8; turn++) await new Promise((resolve) => setImmediate(resolve));
}
