import { Logger } from '@nestjs/common';
import { ManualClock } from '../../src/base/clock/manual-clock.js';
import { QueueEvents } from '../../src/base/queue-events.js';
import { isoMicros } from '../../src/base/time/iso-micros.js';
import { DEFAULT_TENANT } from '../../src/base/names/names.js';
import { splitQueueKey } from '../../src/base/queue-key.js';
import type { QueueEncryption } from '../../src/encryption/queue-encryption.js';
import type { HotlistService } from '../../src/hotlist/hotlist.service.js';
import { defaultLimiterOptions } from '../../src/limiter/limiter.options.js';
import { LimiterService } from '../../src/limiter/limiter.service.js';
import { BundleSender } from '../../src/push/flush/bundle-sender.js';
import { Flusher } from '../../src/push/flush/flusher.js';
import { Originals } from '../../src/push/flush/originals.js';
import type { PushItem } from '../../src/push/push-item.js';
import type { PushResult } from '../../src/push/push-message.js';
import type { PushOptions } from '../../src/push/push.options.js';
import { DedupIndexes } from '../../src/push/dedup/dedup-indexes.js';
import {
  logHashesAfterV1,
  type HashesAfterArgs,
  type HashPiece,
} from '../../src/push/dedup/dedup.procedures.js';
import { HashReader } from '../../src/push/dedup/hash-reader.js';
import type {
  OriginalsArgs,
  PushVerdict,
  StoredSegment,
  VouchedSegmentArgs,
} from '../../src/push/push.procedures.js';
import { logOriginalsV1, logPushMultiV2 } from '../../src/push/push.procedures.js';
import { PushService } from '../../src/push/push.service.js';
import type { PushAdmission } from '../../src/queue-controls/push-admission.js';
import type { SqlConnection } from '../../src/raw-sql/connection-lease.js';
import type { Procedure } from '../../src/raw-sql/procedure.js';
import type { RawSqlService } from '../../src/raw-sql/raw-sql.service.js';
import type { Frame } from '../../src/segment/frame.js';
import { decodeSegment } from '../../src/segment/segment.js';
import { HASH_BYTES } from '../../src/segment/transaction-hash.js';
import { uuidText } from '../../src/segment/uuid-v7.js';

type FakeSegment = Omit<StoredSegment, 'index'>;

/** One row of hashes. */
interface FakeHashes {
  readonly base: number;
  readonly end: number;
  readonly createdAtMicros: number;
  readonly hashes: Buffer;
}

interface FakePartition {
  readonly id: string;
  segments: FakeSegment[];
  readonly rows: FakeHashes[];
  /** By hash: its offsets, ascending. */
  readonly offsets: Map<string, number[]>;
  next: number;
}

/** The push procedures over arrays: same verdicts, all or nothing per call, and a way to hold, fail and watch calls. */
export class FakeLog {
  /** Segments of every push call that arrived, as queue/partition. */
  readonly flushes: string[][] = [];
  readonly verified: number[] = [];
  /** Bases of the pieces that were read for dedup indexes. */
  readonly hashPieces: number[] = [];
  originalsCalls = 0;
  hashesCalls = 0;
  windowSeconds = 3600;
  /** The database's clock. */
  nowMicros = 1_800_000_000_000_000;
  connections = 0;
  connectionsMost = 0;
  /** Throws what this returns, before anything is written. */
  failure: (segments: readonly VouchedSegmentArgs[]) => Error | null | undefined = () => null;
  /** The same, when everything is written: the answer is lost. */
  lostAnswer: (segments: readonly VouchedSegmentArgs[]) => Error | null | undefined = () => null;
  /** Runs when everything is written and nobody has been told. */
  beforeAnswer: () => void | Promise<void> = () => undefined;
  /** Runs before a look for originals; what it throws is the call's failure. */
  beforeOriginals: () => void | Promise<void> = () => undefined;
  /** Runs before hashes are read; what it throws is the call's failure. */
  beforeHashes: () => void | Promise<void> = () => undefined;
  /** Before a push statement gets its connection. */
  onConnect: () => void = () => undefined;
  private readonly partitions = new Map<string, FakePartition>();
  private partitionsMade = 0;
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
    this.partition(`${queue}/${partition}`).segments = [];
  }

  /** As deleting a queue and filling it anew does: other messages at the offsets of the old ones. */
  replaceSegments(queue: string, partition: string, by: string): void {
    this.partition(`${queue}/${partition}`).segments = this.segments(`${queue}/${by}`);
  }

  /** As the purge does: rows of hashes that end below an offset. */
  purgeHashes(queue: string, partition: string, below: number): void {
    const { rows, offsets } = this.partition(`${queue}/${partition}`);
    const kept = rows.findIndex(({ end }) => end >= below);
    const gone = rows.splice(0, kept < 0 ? rows.length : kept).at(-1);
    if (!gone) return;
    for (const [hash, all] of offsets) {
      offsets.set(
        hash,
        all.filter((offset) => offset > gone.end),
      );
    }
  }

  /** As deleting the queue does; the next push makes another partition of that name. */
  deletePartition(queue: string, partition: string): void {
    this.partitions.delete(`${queue}/${partition}`);
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
        if ((procedure as unknown) === logOriginalsV1)
          return (await this.originals(args as OriginalsArgs)) as Row[];
        if ((procedure as unknown) === logHashesAfterV1)
          return (await this.hashesAfter(args as HashesAfterArgs)) as Row[];
        throw new Error(`unexpected ${procedure.name}`);
      },
      callOne: async <Args, Row>(procedure: Procedure<Args, Row>, args: Args) => {
        procedure.values(args);
        if ((procedure as unknown) !== logPushMultiV2) throw new Error(`unexpected ${procedure.name}`);
        return (await this.push(args as readonly VouchedSegmentArgs[])) as Row;
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

  private async push(segments: readonly VouchedSegmentArgs[]): Promise<PushVerdict[]> {
    this.flushes.push(segments.map(({ target }) => `${target.queue}/${target.partition}`));
    for (const { promise } of segments) this.verified.push(promise.verified);
    await this.gate?.opened;
    const error = this.failure(segments);
    if (error) throw error;
    const verdicts = segments.map((segment) => this.pushOne(segment));
    await this.beforeAnswer();
    const lost = this.lostAnswer(segments);
    if (lost) throw lost;
    return verdicts;
  }

  private pushOne({ target, count, hashes, promise, blob }: VouchedSegmentArgs): PushVerdict {
    if (hashes.length !== count * HASH_BYTES) throw new Error('wrong stride');
    const partition = this.partition(`${target.queue}/${target.partition}`);
    const cutoffMicros = this.cutoffMicros();
    let { verified } = promise;
    let facts = verified === -1 ? { partitionId: partition.id, window: this.windowSeconds } : {};
    if (promise.isBound) {
      const holds =
        promise.partitionId === partition.id &&
        this.windowSeconds > 0 &&
        verified < partition.next &&
        promise.sinceMicros <= cutoffMicros;
      if (holds) {
        const confirmed = promise.suspects.filter(
          ([i, off]) =>
            partition.offsets.get(hashAt(hashes, i))?.includes(off) && atOf(partition, off) >= cutoffMicros,
        );
        const dups = lowestOf(confirmed.map(([i, off]) => ({ i, off })));
        if (dups.length > 0) return { status: 'duplicate', dups };
      } else {
        verified = -1;
        facts = { partitionId: partition.id, window: this.windowSeconds };
      }
    }
    const dups: { i: number; off: number }[] = [];
    for (let i = 0; i < count && this.windowSeconds > 0; i++) {
      for (const off of partition.offsets.get(hashAt(hashes, i)) ?? [])
        if (off > verified && atOf(partition, off) >= cutoffMicros) dups.push({ i, off });
    }
    if (dups.length > 0) return { status: 'duplicate', dups: lowestOf(dups), ...facts };
    const base = partition.next;
    const end = base + count - 1;
    partition.next += count;
    partition.segments.push({ base, end, blob });
    partition.rows.push({ base, end, createdAtMicros: this.nowMicros, hashes: Buffer.from(hashes) });
    for (let i = 0; i < count; i++) {
      const offsets = partition.offsets.get(hashAt(hashes, i));
      if (offsets) offsets.push(base + i);
      else partition.offsets.set(hashAt(hashes, i), [base + i]);
    }
    return { status: 'queued', baseOffset: base, createdAt: isoMicros(this.nowMicros), ...facts };
  }

  private async hashesAfter({ partitions, bytesMax }: HashesAfterArgs): Promise<HashPiece[]> {
    this.hashesCalls += 1;
    await this.beforeHashes();
    const pieces: HashPiece[] = [];
    let bytes = 0;
    for (const [index, { target, after }] of partitions.entries()) {
      const partition = this.partitions.get(`${target.queue}/${target.partition}`);
      if (!partition || this.windowSeconds === 0) continue;
      const about = {
        index,
        partitionId: partition.id,
        windowSeconds: this.windowSeconds,
        sinceMicros: null,
      };
      const sinceMicros = this.cutoffMicros();
      const rows = partition.rows.filter(({ base, createdAtMicros }) =>
        after === -1 ? createdAtMicros >= sinceMicros : base > after,
      );
      if (after === -1) {
        const base = rows[0]?.base ?? partition.next;
        pieces.push({
          ...about,
          sinceMicros,
          base,
          end: base - 1,
          createdAtMicros: 0,
          hashes: Buffer.alloc(0),
        });
      }
      for (const row of rows) {
        pieces.push({ ...about, ...row });
        this.hashPieces.push(row.base);
        if ((bytes += row.hashes.length) >= bytesMax) return pieces;
      }
    }
    return pieces;
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
    return this.partition(name).segments;
  }

  private partition(name: string): FakePartition {
    let partition = this.partitions.get(name);
    if (!partition) {
      const id = `00000000-0000-4000-8000-${String(this.partitionsMade++).padStart(12, '0')}`;
      partition = { id, segments: [], rows: [], offsets: new Map(), next: 0 };
      this.partitions.set(name, partition);
    }
    return partition;
  }

  private cutoffMicros(): number {
    return this.nowMicros - this.windowSeconds * 1_000_000;
  }
}

function hashAt(hashes: Buffer, i: number): string {
  return hashes.toString('hex', i * HASH_BYTES, (i + 1) * HASH_BYTES);
}

function atOf({ rows }: FakePartition, offset: number): number {
  return rows.find(({ base, end }) => base <= offset && offset <= end)!.createdAtMicros;
}

function lowestOf(dups: readonly { i: number; off: number }[]): { i: number; off: number }[] {
  const lowest = new Map<number, number>();
  for (const { i, off } of dups) lowest.set(i, Math.min(off, lowest.get(i) ?? off));
  return [...lowest].sort(([a], [b]) => a - b).map(([i, off]) => ({ i, off }));
}

export interface Offer {
  queue: string;
  partition: string;
  count: number;
}

export interface PushStack {
  clock: ManualClock;
  limiter: LimiterService;
  offers: Offer[];
  flusher: Flusher;
  dedup: DedupIndexes;
  events: QueueEvents;
  service: PushService;
  push(items: Partial<PushItem>[]): Promise<PushResult[]>;
}

export interface PushBench extends PushStack {
  log: FakeLog;
}

export interface PushStackOptions extends PushOptions {
  /** None by default. */
  encryption: QueueEncryption;
  /** Memory of the dedup indexes; none by default. */
  dedupBytesMax: number;
}

/** No queue is paused or bounded. */
const noEncryption = { isIdle: true, seals: () => false } as unknown as QueueEncryption;
const openAdmission = { isOpen: true } as unknown as PushAdmission;

/** The push path with real lanes over a fake log; over the log of another bench it is a second broker. */
export function pushBench(
  options: Partial<PushStackOptions> = {},
  pushPermits = 8,
  log = new FakeLog(),
): PushBench {
  Logger.overrideLogger(false); // failures are half of what is tested
  return { log, ...pushStack(log.rawSql, options, pushPermits) };
}

/** The push path over any database. */
export function pushStack(
  rawSql: RawSqlService,
  options: Partial<PushStackOptions> = {},
  pushPermits = 8,
): PushStack {
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
  const sender = new BundleSender(rawSql, clock);
  const events = new QueueEvents();
  const dedupOptions = { bytesMax: options.dedupBytesMax ?? 0 };
  const dedup = new DedupIndexes(new HashReader(rawSql), events, clock, dedupOptions);
  dedup.onModuleInit();
  const flusher = new Flusher(limiter, sender, new Originals(rawSql), dedup, hotlist, all);
  const service = new PushService(flusher, openAdmission, options.encryption ?? noEncryption, clock, all);
  const push = (items: Partial<PushItem>[]) => {
    const full = items.map(item);
    const bodyBytes = full.reduce((sum, { payload }) => sum + payload.length, 0);
    return service.push({ items: full }, { tenant: DEFAULT_TENANT, bodyBytes, producerSub: null });
  };
  return { clock, limiter, offers, flusher, dedup, events, service, push };
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
