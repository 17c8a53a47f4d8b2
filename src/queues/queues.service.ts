import { Injectable, Logger } from '@nestjs/common';
import { BrokerError } from '../base/errors/broker-error.js';
import { queueKey } from '../base/queue-key.js';
import { QueueEvents } from '../base/queue-events.js';
import { QueueEncryption } from '../encryption/queue-encryption.js';
import { HotlistService } from '../hotlist/hotlist.service.js';
import { QueueConfigService } from '../queue-config/queue-config.service.js';
import { QueueControls } from '../queue-controls/queue-controls.service.js';
import { RawSqlService } from '../raw-sql/raw-sql.service.js';
import { SqlStatementError } from '../raw-sql/sql-failure.js';
import { WakeGateService } from '../wake-gate/wake-gate.service.js';
import type { ConfigureRequest } from './configure.request.js';
import {
  configureQueueV1,
  deleteQueueV1,
  type ConfiguredQueue,
  type DeletedQueue,
} from './queues.procedures.js';

/** How configure_queue_v1 refuses an option: SQLSTATE, and the head of its text. */
const REFUSED_STATE = 'QCONF';
const REFUSED_HEAD = /^QCONF: /;

/** Deadlocks are possible on administrative paths: a delete locks what pops and acks hold. */
const ATTEMPTS = 5;

/** Creates, changes and deletes queues, and makes this broker's memory agree before the client has its answer. */
@Injectable()
export class QueuesService {
  private readonly logger = new Logger(QueuesService.name);

  constructor(
    private readonly rawSql: RawSqlService,
    private readonly queueConfig: QueueConfigService,
    private readonly hotlist: HotlistService,
    private readonly gates: WakeGateService,
    private readonly events: QueueEvents,
    private readonly controls: QueueControls,
    private readonly encryption: QueueEncryption,
  ) {}

  /** @throws BrokerError `bad_option` with the database's text, which names the option */
  async configure(tenant: string, { queue, options }: ConfigureRequest): Promise<ConfiguredQueue> {
    const configured = await this.rawSql
      .callOne(configureQueueV1, { tenant, queue, options })
      .catch(asBadOption);
    const key = queueKey(tenant, queue);
    this.queueConfig.forget(tenant, queue);
    await Promise.all([
      this.applyNow(tenant, queue, key),
      this.controls.refreshAfterChange(),
      this.encryption.refreshAfterChange(),
    ]);
    if (configured.options.encryptionEnabled === true && !this.encryption.hasKey) {
      this.logger.warn(
        `queue ${JSON.stringify(queue)} is to be encrypted, but without QUEEN_ENCRYPTION_KEY payloads are stored as they are`,
      );
    }
    // A shorter window or delay may have made something visible for pops that are parked.
    this.gates.open(key);
    return configured;
  }

  async delete(tenant: string, queue: string): Promise<DeletedQueue> {
    const deleted = await this.withRetries(() => this.rawSql.callOne(deleteQueueV1, { tenant, queue }));
    const key = queueKey(tenant, queue);
    // Also when there was no such queue: it may have been deleted behind our back, and be made anew any moment.
    this.queueConfig.forget(tenant, queue);
    this.events.queueDropped({ tenant, queue, key });
    this.hotlist.dropQueue(key);
    return deleted;
  }

  /** Read back rather than taken from the reply, so that there is one reading of a queue's settings. */
  private async applyNow(tenant: string, queue: string, key: string): Promise<void> {
    try {
      const config = await this.queueConfig.get(tenant, queue);
      if (!config) return;
      this.hotlist.setConfig(key, config);
      this.events.queueConfigured({ tenant, queue, key, minPopWaitMs: config.minPopWaitMs });
    } catch (error) {
      // The change is committed; pops see it when their own reading is due.
      this.logger.warn(`the new settings of a queue could not be read back: ${(error as Error).message}`);
    }
  }

  private async withRetries<T>(run: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await run();
      } catch (error) {
        if (!(error instanceof SqlStatementError && error.retryable && attempt < ATTEMPTS)) throw error;
      }
    }
  }
}

function asBadOption(error: unknown): never {
  if (error instanceof SqlStatementError && error.sqlState === REFUSED_STATE) {
    throw new BrokerError('bad_option', error.sqlMessage.replace(REFUSED_HEAD, ''), undefined, {
      cause: error,
    });
  }
  throw error;
}
