import { Logger } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { directConfig, type DatabaseOptions } from '../raw-sql/database-options.js';
import { isPooled } from '../raw-sql/pooler.js';
import { fromTuple, type Hint } from './hint.js';
import type { HintBus, HintBusStats, HintListener } from './hint-bus.js';
import { packHints, unpackHints } from './pack-hints.js';
import { UnsentNews } from './unsent-news.js';

const CHANNEL = 'queen_hints';
const APPLICATION_NAME = 'queen-nest hints';
const RECONNECT_MS_MIN = 250;
const RECONNECT_MS_MAX = 5000;
/** What stands in between does not change from one second to the next. */
const DEAF_RETRY_MS = 60_000;
const PEER_LOOK_MS = 5000;
const STATEMENT_MS = 5000;
const SELF_TEST_MS = 3000;

const DEAF =
  'LISTEN hears nothing, so brokers find each other’s messages by polling. Set QUEEN_DIRECT_DATABASE_URL to the address of ' +
  'PostgreSQL itself, or QUEEN_HINT_BUS=off to end this warning';

/** Connected, and nothing arrives. */
class DeafError extends Error {
  constructor(pooled: boolean) {
    super(
      pooled
        ? `a connection pooler stands between the broker and PostgreSQL: ${DEAF}`
        : `a transaction pooler may stand between the broker and PostgreSQL: ${DEAF}`,
    );
  }
}

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
  private readonly unsent = new UnsentNews();
  private hearer: pg.Client | null = null;
  private sender: pg.Client | null = null;
  private listener: HintListener | null = null;
  private sending: Promise<void> = Promise.resolve();
  private retryMs = RECONNECT_MS_MIN;
  private retryTimer: NodeJS.Timeout | undefined;
  private peerTimer: NodeJS.Timeout | undefined;
  private isHearing = false;
  private hasPeers = false;
  private isStopped = false;
  private lastComplaint = '';
  private onSelfHeard: (() => void) | null = null;

  constructor(private readonly options: DatabaseOptions) {}

  async start(listener: HintListener): Promise<void> {
    this.listener = listener;
    await this.connect();
  }

  publish(hints: readonly Hint[]): Promise<void> {
    this.sending = this.sending.then(() => this.send(hints));
    return this.sending;
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
      if (this.lastComplaint !== '') this.logger.log('hints are back');
      this.lastComplaint = '';
      await this.lookForPeers();
      if (this.isStopped) return; // a timer set now would outlive the bus
      this.peerTimer = setInterval(() => void this.lookForPeers(), PEER_LOOK_MS);
      this.peerTimer.unref();
      void this.publish([{ kind: 'hello' }, ...this.unsent.take()]);
    } catch (error) {
      this.lost(error as Error);
    }
  }

  private async open(): Promise<pg.Client> {
    const client = new pg.Client({
      ...directConfig(this.options),
      application_name: APPLICATION_NAME,
      query_timeout: STATEMENT_MS, // a peer that vanished without a word would be waited for
    });
    client.on('error', (error) => this.lost(error));
    client.on('end', () => this.lost(new Error('the connection ended')));
    await client.connect();
    if (this.isStopped) {
      // stop() came while this was being opened, and knew nothing of it.
      await client.end();
      throw new Error('stopped');
    }
    return client;
  }

  private async selfTest(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const heard = new Promise<boolean>((resolve) => {
      this.onSelfHeard = () => resolve(true);
      timer = setTimeout(() => resolve(false), SELF_TEST_MS);
    });
    try {
      await this.notify(packHints(this.id, [{ kind: 'hello' }]));
      if (!(await heard)) throw new DeafError(await isPooled(this.hearer!));
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

  private async send(hints: readonly Hint[]): Promise<void> {
    try {
      if (!this.sender || !this.isHearing) throw new Error('not connected');
      await this.notify(packHints(this.id, hints));
      this.counters.sent += hints.length;
    } catch (error) {
      this.counters.dropped += this.unsent.keep(hints);
      if (this.sender) this.lost(error as Error);
    }
  }

  /** Nobody needs to wait for the disk: what a crash loses here is a hint. Set for this transaction, whoever has the session. */
  private async notify(payloads: string[]): Promise<void> {
    await this.sender!.query(
      `select set_config('synchronous_commit', 'off', true), pg_notify($1, p) from unnest($2::text[]) p`,
      [CHANNEL, payloads],
    );
  }

  private lost(error: Error): void {
    if (this.isStopped || this.retryTimer) return;
    this.isHearing = false;
    clearInterval(this.peerTimer);
    this.complain(error.message);
    for (const client of [this.hearer, this.sender]) client?.end().catch(() => undefined);
    this.hearer = this.sender = null;
    const waitMs = error instanceof DeafError ? DEAF_RETRY_MS : this.retryMs;
    this.retryTimer = setTimeout(() => {
      this.retryTimer = undefined;
      this.counters.reconnects++;
      void this.connect().then(() => this.isHearing && this.listener?.reconnected());
    }, waitMs);
    this.retryTimer.unref();
    this.retryMs = Math.min(this.retryMs * 2, RECONNECT_MS_MAX);
  }

  /** An outage of hours is one line, not one a second. */
  private complain(reason: string): void {
    if (reason === this.lastComplaint) return;
    this.lastComplaint = reason;
    this.logger.warn(`hints are off until they can be heard again: ${reason}`);
  }
}
