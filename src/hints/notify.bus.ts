import { Logger } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { clientConfig, type DatabaseOptions } from '../raw-sql/database-options.js';
import { fromTuple, type Hint } from './hint.js';
import type { HintBus, HintBusStats, HintListener } from './hint-bus.js';
import { packHints, unpackHints } from './pack-hints.js';

const CHANNEL = 'queen_hints';
const APPLICATION_NAME = 'queen-nest hints';
const RECONNECT_MS_MIN = 250;
const RECONNECT_MS_MAX = 5000;
const PEER_LOOK_MS = 5000;
const SELF_TEST_MS = 3000;

/**
 * Hints over LISTEN/NOTIFY, so that brokers that share a database need no further configuration.
 *
 * Two connections, neither from the pool. One listens and is idle between messages: a listener inside a transaction
 * would make the server's notification queue grow. The other sends, one transaction a flush and never inside a push:
 * commits that notify are serialized by a database-wide lock.
 *
 * A transaction pooler accepts LISTEN and delivers nothing. So the bus sends itself a note when it starts; unheard, the
 * log says what to do, and the broker goes on without hints, on its polling floors.
 */
export class NotifyBus implements HintBus {
  private readonly logger = new Logger('Hints');
  private readonly id = randomUUID();
  private readonly counters = { sent: 0, received: 0, dropped: 0, reconnects: 0 };
  private hearer: pg.Client | null = null;
  private sender: pg.Client | null = null;
  private listener: HintListener | null = null;
  private sending: Promise<void> = Promise.resolve();
  private queued: string[] = [];
  private retryMs = RECONNECT_MS_MIN;
  private retryTimer: NodeJS.Timeout | undefined;
  private peerTimer: NodeJS.Timeout | undefined;
  private isHearing = false;
  private hasPeers = false;
  private isStopped = false;
  private onSelfHeard: (() => void) | null = null;

  constructor(private readonly options: DatabaseOptions) {}

  async start(listener: HintListener): Promise<void> {
    this.listener = listener;
    await this.connect();
  }

  publish(hints: readonly Hint[]): void {
    if (!this.sender || !this.isHearing) {
      this.counters.dropped += hints.length;
      return;
    }
    this.counters.sent += hints.length;
    this.send(packHints(this.id, hints));
  }

  stats(): HintBusStats {
    return { ...this.counters, isConnected: this.isHearing, hasPeers: this.hasPeers };
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    clearTimeout(this.retryTimer);
    clearInterval(this.peerTimer);
    await this.sending;
    for (const client of [this.hearer, this.sender]) await client?.end().catch(() => undefined);
  }

  private async connect(): Promise<void> {
    try {
      const hearer = (this.hearer = await this.open());
      hearer.on('notification', ({ payload }) => this.hear(payload ?? ''));
      this.sender = await this.open();
      await hearer.query(`listen ${CHANNEL}`);
      await this.selfTest();
      this.isHearing = true;
      this.retryMs = RECONNECT_MS_MIN;
      await this.lookForPeers();
      this.peerTimer = setInterval(() => void this.lookForPeers(), PEER_LOOK_MS);
      this.peerTimer.unref();
      this.publish([{ kind: 'hello' }]);
    } catch (error) {
      this.lost(error as Error);
    }
  }

  private async open(): Promise<pg.Client> {
    const client = new pg.Client({ ...clientConfig(this.options), application_name: APPLICATION_NAME });
    client.on('error', (error) => this.lost(error));
    client.on('end', () => this.lost(new Error('the connection ended')));
    await client.connect();
    return client;
  }

  private async selfTest(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const heard = new Promise<void>((resolve, reject) => {
      this.onSelfHeard = resolve;
      timer = setTimeout(
        () =>
          reject(
            new Error(
              'LISTEN hears nothing: is a transaction pooler in between? Give the broker a direct address, or set ' +
                'QUEEN_HINT_BUS=off and let brokers find each other’s messages by polling',
            ),
          ),
        SELF_TEST_MS,
      );
    });
    try {
      await this.notify(packHints(this.id, [{ kind: 'hello' }]));
      await heard;
    } finally {
      clearTimeout(timer);
      this.onSelfHeard = null;
    }
  }

  /** Peers are sessions like this one. Ours are two: the hearer and the sender. */
  private async lookForPeers(): Promise<void> {
    try {
      const { rows } = await this.hearer!.query<{ n: number }>(
        `select count(*)::int as n from pg_stat_activity where application_name = $1 and datname = current_database()`,
        [APPLICATION_NAME],
      );
      this.hasPeers = rows[0].n > 2;
    } catch (error) {
      this.lost(error as Error);
    }
  }

  private hear(payload: string): void {
    const unpacked = unpackHints(payload);
    if (!unpacked) return;
    if (unpacked.sender === this.id) {
      this.onSelfHeard?.();
      return;
    }
    this.hasPeers = true;
    for (const tuple of unpacked.tuples) {
      const hint = fromTuple(tuple);
      if (!hint || hint.kind === 'hello') continue;
      this.counters.received++;
      this.listener?.heard(hint);
    }
  }

  /** One statement at a time; what comes meanwhile goes next, and beyond one flush's worth it is dropped. */
  private send(payloads: string[]): void {
    if (this.queued.length > 0) {
      this.counters.dropped += payloads.length;
      return;
    }
    this.queued = payloads;
    this.sending = this.sending.then(async () => {
      const batch = this.queued;
      this.queued = [];
      try {
        await this.notify(batch);
      } catch (error) {
        this.counters.dropped += batch.length;
        this.lost(error as Error);
      }
    });
  }

  private async notify(payloads: string[]): Promise<void> {
    await this.sender!.query('select pg_notify($1, p) from unnest($2::text[]) p', [CHANNEL, payloads]);
  }

  private lost(error: Error): void {
    if (this.isStopped || this.retryTimer) return;
    this.isHearing = false;
    clearInterval(this.peerTimer);
    this.logger.warn(`hints are off for ${this.retryMs} ms: ${error.message}`);
    for (const client of [this.hearer, this.sender]) client?.end().catch(() => undefined);
    this.hearer = this.sender = null;
    this.retryTimer = setTimeout(() => {
      this.retryTimer = undefined;
      this.counters.reconnects++;
      void this.connect().then(() => this.isHearing && this.listener?.reconnected());
    }, this.retryMs);
    this.retryTimer.unref();
    this.retryMs = Math.min(this.retryMs * 2, RECONNECT_MS_MAX);
  }
}
