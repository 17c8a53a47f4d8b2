import {
  Inject,
  Injectable,
  Logger,
  Module,
  type DynamicModule,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type Type,
} from '@nestjs/common';

/** What your application implements: returns when the message is done, throws when it is to come again. */
export interface MessageHandler {
  handle(message: QueueMessage): Promise<void>;
}

export interface QueueMessage {
  transactionId: string;
  partition: string;
  data: unknown;
}

export interface QueueConsumerOptions {
  /** Address of a broker, such as http://localhost:6632. */
  url: string;
  queue: string;
  consumerGroup: string;
  batch?: number;
  partitions?: number;
}

interface PoppedMessage extends QueueMessage {
  partitionId: string;
  leaseId: string;
}

const OPTIONS = Symbol('QueueConsumerOptions');
const HANDLER = Symbol('MessageHandler');
const RETRY_MS = 1000;

/** Pops while the application runs; on shutdown the long-poll is cut short and the batch in hand is finished. */
@Injectable()
export class QueueConsumer implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(QueueConsumer.name);
  private readonly stopping = new AbortController();
  private running: Promise<void> = Promise.resolve();

  constructor(
    @Inject(OPTIONS) private readonly options: QueueConsumerOptions,
    @Inject(HANDLER) private readonly handler: MessageHandler,
  ) {}

  onApplicationBootstrap(): void {
    this.running = this.run();
  }

  async onApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  private async run(): Promise<void> {
    while (!this.stopping.signal.aborted) {
      try {
        const messages = await this.pop();
        if (messages.length > 0) await this.settle(messages);
      } catch (error) {
        if (this.stopping.signal.aborted) return;
        this.logger.warn(`the broker cannot be reached: ${(error as Error).message}`);
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }

  private async pop(): Promise<PoppedMessage[]> {
    const { url, queue, consumerGroup, batch = 100, partitions = 10 } = this.options;
    const query = new URLSearchParams({
      consumerGroup,
      batch: String(batch),
      partitions: String(partitions),
      wait: 'true',
      timeout: '20000',
    });
    const answer = await fetch(`${url}/api/v1/pop/queue/${encodeURIComponent(queue)}?${query.toString()}`, {
      signal: this.stopping.signal,
    });
    if (answer.status === 204) return [];
    if (!answer.ok) throw new Error(`pop answered ${answer.status}`);
    return ((await answer.json()) as { messages: PoppedMessage[] }).messages;
  }

  private async settle(messages: PoppedMessage[]): Promise<void> {
    const acknowledgments = [];
    const stopped = new Set<string>();
    for (const message of messages) {
      const { transactionId, partitionId, leaseId } = message;
      // What follows a failed message in its partition comes again after it: handling it now would be out of order.
      if (stopped.has(partitionId)) continue;
      const outcome = await this.handler.handle(message).then(
        () => ({ status: 'completed' }),
        (error: Error) => ({ status: 'failed', error: error.message }),
      );
      if (outcome.status === 'failed') stopped.add(partitionId);
      acknowledgments.push({ transactionId, partitionId, leaseId, ...outcome });
    }
    await fetch(`${this.options.url}/api/v1/ack/batch`, {
      method: 'POST',
      body: JSON.stringify({ consumerGroup: this.options.consumerGroup, acknowledgments }),
    });
  }
}

/** `QueueConsumerModule.forQueue({ url, queue, consumerGroup }, OrderHandler)` in the imports of your module. */
@Module({})
export class QueueConsumerModule {
  static forQueue(options: QueueConsumerOptions, handler: Type<MessageHandler>): DynamicModule {
    return {
      module: QueueConsumerModule,
      providers: [
        QueueConsumer,
        { provide: OPTIONS, useValue: options },
        { provide: HANDLER, useClass: handler },
      ],
    };
  }
}
