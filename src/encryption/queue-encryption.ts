import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { CoalescedCalls } from '../base/coalesced-calls.js';
import { Loop } from '../base/loop/loop.js';
import { QueueEvents } from '../base/queue-events.js';
import { queueKey } from '../base/queue-key.js';
import { Reconcile } from '../base/reconcile.js';
import { RawSqlService } from '../raw-sql/raw-sql.service.js';
import { encryptedQueuesV1 } from './encryption.procedures.js';
import { PayloadCipher } from './payload-cipher.js';

/** How soon a queue that another broker was told to encrypt is encrypted here. */
const PERIOD_MS = 1000;

/**
 * Which queues are encrypted, as last read. They are read all at once, so that no push has to ask, and while the
 * database is away the last reading stands. Before the first reading every payload is sealed: one that was sealed in
 * vain is opened by every pop, but one that was stored in the clear stays so.
 */
@Injectable()
export class QueueEncryption implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('Encryption');
  /** By queueKey. Null: not read yet. */
  private queues: Set<string> | null = null;
  private readonly reads = new CoalescedCalls<void>();
  private readonly loop = new Loop('encrypted queues', PERIOD_MS, () => this.refresh());

  constructor(
    private readonly rawSql: RawSqlService,
    private readonly cipher: PayloadCipher,
    events: QueueEvents,
    reconcile: Reconcile,
  ) {
    events.onQueueDropped(({ key }) => this.forget(key));
    reconcile.onDue(() => void this.refreshAfterChange());
  }

  async onApplicationBootstrap(): Promise<void> {
    if (this.cipher.hasKey) await this.loop.runNow();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.loop.stop();
  }

  get hasKey(): boolean {
    return this.cipher.hasKey;
  }

  /** Nothing is sealed, which is the rule: no queue needs to be looked up. */
  get isIdle(): boolean {
    return !this.cipher.hasKey || this.queues?.size === 0;
  }

  seals(tenant: string, queue: string): boolean {
    if (this.isIdle) return false;
    return this.queues === null || this.queues.has(queueKey(tenant, queue));
  }

  /** The envelope of a payload of a queue that `seals`. */
  seal(payload: Buffer): Buffer {
    return this.cipher.seal(payload);
  }

  /** Reads now; for whoever has just changed a queue. When the reading fails, the next one shows the change. */
  async refreshAfterChange(): Promise<void> {
    if (!this.cipher.hasKey || this.loop.isStopping) return;
    await this.refresh().catch((error: Error) =>
      this.logger.warn(`which queues are encrypted could not be read: ${error.message}`),
    );
  }

  private refresh(): Promise<void> {
    return this.reads.call('all', () => this.read());
  }

  /** The queue is gone; one that is made anew under its name is not encrypted. */
  private forget(key: string): void {
    // A reading under way may still have seen it: another one follows.
    if (this.queues?.delete(key)) void this.refreshAfterChange();
  }

  private async read(): Promise<void> {
    const rows = await this.rawSql.call(encryptedQueuesV1, undefined);
    this.queues = new Set(rows.map(({ tenant, queue }) => queueKey(tenant, queue)));
  }
}
