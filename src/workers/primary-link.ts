import type { Clock } from '../base/clock/clock.js';
import { BrokerError } from '../base/errors/broker-error.js';
import type { GroupMetrics, ProcessMetrics, WorkerGroup } from '../base/worker-group/worker-group.js';
import type { Assignment, FromWorker, ToWorker } from './messages.js';

/** The way to the primary process and back. */
export interface Channel {
  /** Resolves when the message is out, or cannot be sent any more. */
  send(message: FromWorker): Promise<void>;
  onMessage(listener: (message: ToWorker) => void): void;
}

/** Longer than the primary process waits for the workers. */
const PATIENCE_MS = 10_000;

/** A worker's side of its talk with the primary process. */
export class PrimaryLink implements WorkerGroup {
  number = 0;
  private own: (() => Promise<ProcessMetrics>) | null = null;
  private readonly questions = new Map<number, (metrics: GroupMetrics) => void>();
  private lastId = 0;
  private assigned!: (assignment: Assignment) => void;
  private cleared!: (port: number) => void;
  private readonly assignment = new Promise<Assignment>((resolve) => (this.assigned = resolve));
  private readonly clearance = new Promise<number>((resolve) => (this.cleared = resolve));

  /** @param onDrain called when the primary process wants this one to leave */
  constructor(
    private readonly channel: Channel,
    private readonly clock: Clock,
    private readonly onDrain: (reason: string) => void,
  ) {
    channel.onMessage((message) => this.hear(message));
  }

  async hello(): Promise<Assignment> {
    await this.channel.send({ kind: 'hello' });
    const assignment = await this.assignment;
    this.number = assignment.number;
    return assignment;
  }

  /** Resolves with the port when the workers may have it. */
  async prepared(): Promise<number> {
    await this.channel.send({ kind: 'prepared' });
    return this.clearance;
  }

  ready(port: number): Promise<void> {
    return this.channel.send({ kind: 'ready', port });
  }

  failed(reason: string): Promise<void> {
    return this.channel.send({ kind: 'failed', reason });
  }

  answerWith(own: () => Promise<ProcessMetrics>): void {
    this.own = own;
  }

  /** @throws BrokerError `overloaded` when the primary process does not answer */
  gather(): Promise<GroupMetrics> {
    const id = ++this.lastId;
    return new Promise((resolve, reject) => {
      const cancel = this.clock.after(PATIENCE_MS, () => {
        this.questions.delete(id);
        reject(new BrokerError('overloaded', 'the metrics of the other workers did not come'));
      });
      this.questions.set(id, (metrics) => {
        cancel();
        resolve(metrics);
      });
      void this.channel.send({ kind: 'gather', id });
    });
  }

  private hear(message: ToWorker): void {
    switch (message.kind) {
      case 'assignment':
        return this.assigned({ number: message.number, database: message.database });
      case 'listen':
        return this.cleared(message.port);
      case 'drain':
        return this.onDrain(message.reason);
      case 'report':
        return void this.report(message.id);
      case 'gathered': {
        const answer = this.questions.get(message.id);
        this.questions.delete(message.id);
        return answer?.(message.metrics);
      }
    }
  }

  private async report(id: number): Promise<void> {
    if (!this.own) return;
    // One that fails stays away: the primary process then counts what this worker said before.
    const metrics = await this.own().catch(() => null);
    if (metrics) await this.channel.send({ kind: 'report', id, metrics });
  }
}
