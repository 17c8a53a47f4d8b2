import type { CursorRow, Snapshot } from './snapshot.js';
import { Fresh, type Moment } from './moment.js';
import { settle } from './settle.js';

/*
 * The broker as a reader of the specification would sketch it on paper: a partition is a list of messages, a group is a
 * cursor with at most one lease. Times are the database's, in microseconds.
 *
 * Time passes only when a step says so, in hundreds of seconds; every limit a step sets (windows, delays, leases) is
 * no such sum. So it never matters that the database's clock runs on by some milliseconds between two statements.
 */

export const SECOND = 1_000_000;
export const QUEUE_MODE = '__QUEUE_MODE__';
export const EPOCH = 0;
const CHECK_EVERY = 30 * SECOND;
const SLACK = 120 * SECOND;

export interface QueueName {
  tenant: string;
  name: string;
}

export interface Segment {
  base: number;
  texts: string[];
  createdAt: number;
}

export interface Cursor {
  committed: number;
  batchEnd: number | null;
  worker: string | null;
  expiresAt: Moment | null;
  acquiredAt: Moment | null;
  retryCount: number;
  attemptOffset: number | null;
  attemptEnd: number | null;
  attemptCount: number;
  totalConsumed: number;
}

export interface QueueSettings {
  namespace: string;
  task: string;
  leaseTime: number;
  retryLimit: number;
  deadLetterQueue: boolean;
  dlqAfterMaxRetries: boolean;
  delayedProcessing: number;
  windowBuffer: number;
  dedupWindowSeconds: number;
}

export interface ModelPartition {
  /** Empty until the database was seen. */
  id: string;
  readonly queue: ModelQueue;
  readonly name: string;
  lastOffset: number;
  logStart: number;
  txnsStart: number;
  lastWriteAt: Moment;
  /** All that was ever pushed; live from logStart on, known to acks and to the dedup probe from txnsStart on. */
  readonly log: Segment[];
  readonly cursors: Map<string, Cursor>;
}

export interface ModelQueue extends QueueName {
  id: string;
  settings: QueueSettings;
  readonly partitions: Map<string, ModelPartition>;
  readonly subscriptions: Map<string, { mode: string; at: Moment }>;
  readonly watermarks: Map<string, { floor: Moment; updatedAt: Moment }>;
}

export interface DeadLetter {
  partitionId: string;
  group: string;
  offset: number;
  text: string;
  payload: string;
  error: string;
  retryCount: number;
}

export interface Held {
  partition: ModelPartition;
  group: string;
  cursor: Cursor;
}

/** What may or may not have happened to one cursor: which partitions a scan passed before it stopped is random. */
export interface Maybe {
  partition: ModelPartition;
  group: string;
  cursor: Cursor;
}

export class Model {
  readonly queues = new Map<string, ModelQueue>();
  /** Ids of partitions that were deleted with their queue. */
  readonly goneIds: string[] = [];
  deadLetters: DeadLetter[] = [];
  /** Workers that were ever given a lease, oldest first. */
  readonly workers: string[] = [];
  /** What was done, with names resolved: the text of a failure. */
  readonly told: string[] = [];
  maybes: Maybe[] = [];
  private minted = 0;

  /** @param now the database's clock at the last look */
  constructor(public now: number) {}

  mint(prefix: string): string {
    return `${prefix}${this.minted++}`;
  }

  queue({ tenant, name }: QueueName): ModelQueue | undefined {
    return this.queues.get(`${tenant} ${name}`);
  }

  partition(queue: QueueName, name: string): ModelPartition | undefined {
    return this.queue(queue)?.partitions.get(name);
  }

  partitions(): ModelPartition[] {
    return [...this.queues.values()].flatMap((queue) => [...queue.partitions.values()]);
  }

  /** The queues that a discovery names; an empty text names all. */
  matching(tenant: string, namespace: string, task: string): ModelQueue[] {
    return [...this.queues.values()].filter(
      (queue) =>
        queue.tenant === tenant &&
        (namespace === '' || queue.settings.namespace === namespace) &&
        (task === '' || queue.settings.task === task),
    );
  }

  /** The cursors with a lease, live or run out. */
  held(): Held[] {
    return this.partitions()
      .flatMap((partition) => [...partition.cursors].map(([group, cursor]) => ({ partition, group, cursor })))
      .filter(({ cursor }) => cursor.worker !== null);
  }

  /** One of these; three times out of four a live one, if there is any. */
  lease(choice: number): Held | undefined {
    const held = this.held();
    const live = held.filter(({ cursor }) => this.isLeased(cursor));
    const from = live.length > 0 && choice % 4 < 3 ? live : held;
    return from[choice % from.length];
  }

  /** First contact gives a queue the column defaults, and names derived from its own. */
  provideQueue(name: QueueName): ModelQueue {
    const [namespace, task = ''] = name.name.split('.');
    return this.queue(name) ?? this.addQueue(name, { ...COLUMN_DEFAULTS, namespace, task });
  }

  addQueue({ tenant, name }: QueueName, settings: QueueSettings): ModelQueue {
    const maps = { partitions: new Map(), subscriptions: new Map(), watermarks: new Map() };
    const queue: ModelQueue = { tenant, name, id: '', settings, ...maps };
    this.queues.set(`${tenant} ${name}`, queue);
    return queue;
  }

  deleteQueue(name: QueueName): boolean {
    const queue = this.queue(name);
    if (!queue) return false;
    const ids = [...queue.partitions.values()].map(({ id }) => id);
    this.goneIds.push(...ids);
    this.deadLetters = this.deadLetters.filter(({ partitionId }) => !ids.includes(partitionId));
    return this.queues.delete(`${name.tenant} ${name.name}`);
  }

  /** Puts everything so many seconds further into the past. */
  pass(seconds: number): void {
    const earlier = (moment: Moment) => (moment === EPOCH ? EPOCH : known(moment) - seconds * SECOND);
    for (const queue of this.queues.values()) {
      for (const subscription of queue.subscriptions.values()) subscription.at = earlier(subscription.at);
      for (const mark of queue.watermarks.values()) {
        mark.floor = earlier(mark.floor);
        mark.updatedAt = earlier(mark.updatedAt);
      }
      for (const partition of queue.partitions.values()) {
        partition.lastWriteAt = earlier(partition.lastWriteAt);
        for (const segment of partition.log) segment.createdAt -= seconds * SECOND;
        for (const cursor of partition.cursors.values()) {
          if (cursor.expiresAt !== null) cursor.expiresAt = earlier(cursor.expiresAt);
          if (cursor.acquiredAt !== null) cursor.acquiredAt = earlier(cursor.acquiredAt);
        }
      }
    }
  }

  isLeased({ worker, expiresAt }: Cursor): boolean {
    return worker !== null && expiresAt !== null && (expiresAt instanceof Fresh || expiresAt >= this.now);
  }

  /** Whether an age limit of so many seconds has run out since. */
  isOlder(moment: number, seconds: number): boolean {
    return this.now - moment >= seconds * SECOND;
  }

  /** True when the floor of a scan leaves the partition out. */
  isHidden(partition: ModelPartition, floor: number): boolean {
    return known(partition.lastWriteAt) < floor - SLACK;
  }

  /** True when the last check of a watermark is long enough ago for another. */
  checkIsDue(updatedAt: number): boolean {
    return updatedAt <= this.now - CHECK_EVERY;
  }

  /** Compares with the database and takes over what only it can know: ids, and times within the step. */
  settle(before: Snapshot, after: Snapshot): void {
    settle(this, before, after);
    this.now = after.now;
  }
}

const COLUMN_DEFAULTS = {
  leaseTime: 60,
  retryLimit: 3,
  deadLetterQueue: true,
  dlqAfterMaxRetries: true,
  delayedProcessing: 0,
  windowBuffer: 0,
  dedupWindowSeconds: 3600,
};

export const CONFIGURE_DEFAULTS: QueueSettings = {
  ...COLUMN_DEFAULTS,
  leaseTime: 300,
  namespace: '',
  task: '',
};

export function newCursor(committed: number): Cursor {
  return {
    ...{ committed, batchEnd: null, worker: null, expiresAt: null, acquiredAt: null, retryCount: 0 },
    ...{ attemptOffset: null, attemptEnd: null, attemptCount: 0, totalConsumed: 0 },
  };
}

export function newPartition(queue: ModelQueue, name: string): ModelPartition {
  const partition: ModelPartition = {
    ...{ id: '', queue, name, lastOffset: -1, logStart: 0, txnsStart: 0, lastWriteAt: new Fresh() },
    log: [],
    cursors: new Map(),
  };
  queue.partitions.set(name, partition);
  return partition;
}

export interface Message {
  offset: number;
  text: string;
  createdAt: number;
}

function messages(log: readonly Segment[], from: number): Message[] {
  return log
    .filter(({ base }) => base >= from)
    .flatMap(({ base, texts, createdAt }) => texts.map((text, k) => ({ offset: base + k, text, createdAt })));
}

/** What a pop may still deliver. Retention takes whole segments, so the mark never lies inside one. */
export function stored({ log, logStart }: ModelPartition): Message[] {
  return messages(log, logStart);
}

/** What acks and the dedup probe can still find. */
export function hashed({ log, txnsStart }: ModelPartition): Message[] {
  return messages(log, txnsStart);
}

export function releaseLease(cursor: Cursor): void {
  cursor.worker = null;
  cursor.expiresAt = null;
  cursor.batchEnd = null;
}

/** Progress: what failed or came again before says nothing about what comes next. */
export function clearAttempts(cursor: Cursor): void {
  cursor.retryCount = 0;
  cursor.attemptOffset = null;
  cursor.attemptEnd = null;
  cursor.attemptCount = 0;
}

/** A time that the database has told by now. */
export function known(moment: Moment): number {
  if (moment instanceof Fresh) throw new Error('this time is not known before the step is over');
  return moment;
}

export type { CursorRow, Moment };
