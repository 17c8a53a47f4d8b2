import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, type Clock } from '../base/clock/clock.js';
import { queueKey } from '../base/queue-key.js';
import { RawSqlService } from '../raw-sql/raw-sql.service.js';
import type { SqlConnection } from '../raw-sql/connection-lease.js';
import { queueConfigV1 } from './queue-config.procedures.js';
import type { QueueConfig } from './queue-config.js';

/** How long a reading is trusted: other brokers' configure calls are seen after this at the latest. */
const FRESH_MS = 30_000;
/** Names come from clients, so the cache is bounded; the oldest reading goes first. */
const ENTRIES_MAX = 50_000;

interface Reading {
  config: QueueConfig | null;
  readAtMs: number;
}

/** Settings of queues, read at most once per queue and freshness period; one reading in flight per queue. */
@Injectable()
export class QueueConfigService {
  private readonly readings = new Map<string, Reading>();
  private readonly inFlight = new Map<string, Promise<QueueConfig | null>>();

  constructor(
    private readonly rawSql: RawSqlService,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** The last reading while fresh, `undefined` when one is due. `null` means the queue does not exist. */
  peek(tenant: string, queue: string): QueueConfig | null | undefined {
    const reading = this.readings.get(queueKey(tenant, queue));
    if (!reading || this.clock.monoMs() - reading.readAtMs > FRESH_MS) return undefined;
    return reading.config;
  }

  /** The settings, from the cache or from the database; `null` when the queue does not exist. */
  async get(tenant: string, queue: string, connection?: SqlConnection): Promise<QueueConfig | null> {
    const cached = this.peek(tenant, queue);
    if (cached !== undefined) return cached;
    const key = queueKey(tenant, queue);
    const running = this.inFlight.get(key);
    if (running) return running;
    const reading = this.read(tenant, queue, connection);
    this.inFlight.set(key, reading);
    try {
      const config = await reading;
      // A forget() in between means this reading may be older than the change it announced.
      if (this.inFlight.get(key) === reading) this.keep(key, config);
      return config;
    } finally {
      if (this.inFlight.get(key) === reading) this.inFlight.delete(key);
    }
  }

  /** After a configure or a delete: the next pop reads again. */
  forget(tenant: string, queue: string): void {
    const key = queueKey(tenant, queue);
    this.readings.delete(key);
    this.inFlight.delete(key);
  }

  forgetAll(): void {
    this.readings.clear();
    this.inFlight.clear();
  }

  private async read(tenant: string, queue: string, connection?: SqlConnection): Promise<QueueConfig | null> {
    const args = { queue, tenant };
    const rows = connection
      ? await connection.call(queueConfigV1, args)
      : await this.rawSql.call(queueConfigV1, args);
    return rows[0] ?? null;
  }

  private keep(key: string, config: QueueConfig | null): void {
    this.readings.delete(key);
    if (this.readings.size >= ENTRIES_MAX) this.readings.delete(this.readings.keys().next().value!);
    this.readings.set(key, { config, readAtMs: this.clock.monoMs() });
  }
}
