import { Injectable } from '@nestjs/common';
import { BrokerError } from '../../base/errors/broker-error.js';
import { RawSqlService } from '../../raw-sql/raw-sql.service.js';
import { logPartitionsHavePendingV1, type PopArgs } from '../pop.procedures.js';

const QUESTIONS_MAX = 500;
/** Probes are cheap and must not crowd out serving (serve-path 4.1). */
const STATEMENTS_MAX = 2;

interface Asker {
  resolve(pending: boolean): void;
  reject(error: unknown): void;
}

interface Question {
  readonly about: PopArgs;
  readonly askers: Asker[];
}

/**
 * "Anything pending in this partition?", without a permit. One consumer per device means thousands that look every second,
 * each at a partition of its own: those that ask in the same turn, or while two statements are under way, share the next one, and
 * those that ask the same are one question. No answer is older than its question.
 */
@Injectable()
export class PartitionProbes {
  private readonly waiting = new Map<string, Question>();
  private running = 0;
  private isScheduled = false;

  constructor(private readonly rawSql: RawSqlService) {}

  ask(about: PopArgs): Promise<boolean> {
    const key = [about.tenant, about.queue, about.partition, about.group].join('\u001f');
    let question = this.waiting.get(key);
    if (!question) this.waiting.set(key, (question = { about, askers: [] }));
    const { askers } = question;
    return new Promise((resolve, reject) => {
      askers.push({ resolve, reject });
      this.schedule();
    });
  }

  private schedule(): void {
    if (this.isScheduled || this.running >= STATEMENTS_MAX) return;
    this.isScheduled = true;
    setImmediate(() => {
      this.isScheduled = false;
      while (this.waiting.size > 0 && this.running < STATEMENTS_MAX) void this.run(this.take());
    });
  }

  private take(): Question[] {
    const taken: Question[] = [];
    for (const [key, question] of this.waiting) {
      if (taken.length >= QUESTIONS_MAX) break;
      this.waiting.delete(key);
      taken.push(question);
    }
    return taken;
  }

  /** Never rejects. */
  private async run(questions: readonly Question[]): Promise<void> {
    this.running += 1;
    try {
      const answers = await this.rawSql.call(
        logPartitionsHavePendingV1,
        questions.map(({ about }) => about),
      );
      if (answers.length !== questions.length) {
        throw new BrokerError('internal', 'the probe answered for another number of partitions');
      }
      questions.forEach(({ askers }, i) => askers.forEach(({ resolve }) => resolve(answers[i])));
    } catch (error) {
      for (const { askers } of questions) for (const { reject } of askers) reject(error);
    } finally {
      this.running -= 1;
      if (this.waiting.size > 0) this.schedule();
    }
  }
}
