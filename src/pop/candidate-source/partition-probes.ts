import { Injectable } from '@nestjs/common';
import { BrokerError } from '../../base/errors/broker-error.js';
import { RawSqlService } from '../../raw-sql/raw-sql.service.js';
import { logPartitionsHavePendingV1, type PopArgs } from '../pop.procedures.js';

const QUESTIONS_MAX = 500;
/** Probes are cheap and must not crowd out serving (serve-path 4.1). */
const STATEMENTS_MAX = 2;

interface Question {
  readonly about: PopArgs;
  resolve(pending: boolean): void;
  reject(error: unknown): void;
}

/**
 * "Anything pending in this partition?", without a permit. One consumer per device means thousands that look every second,
 * each at a partition of its own: those that ask in the same turn, or while two statements are under way, share the next one.
 * No answer is older than its question.
 */
@Injectable()
export class PartitionProbes {
  private readonly waiting: Question[] = [];
  private running = 0;
  private isScheduled = false;

  constructor(private readonly rawSql: RawSqlService) {}

  ask(about: PopArgs): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ about, resolve, reject });
      this.schedule();
    });
  }

  private schedule(): void {
    if (this.isScheduled || this.running >= STATEMENTS_MAX) return;
    this.isScheduled = true;
    setImmediate(() => {
      this.isScheduled = false;
      while (this.waiting.length > 0 && this.running < STATEMENTS_MAX) {
        void this.run(this.waiting.splice(0, QUESTIONS_MAX));
      }
    });
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
      questions.forEach(({ resolve }, i) => resolve(answers[i]));
    } catch (error) {
      for (const { reject } of questions) reject(error);
    } finally {
      this.running -= 1;
      if (this.waiting.length > 0) this.schedule();
    }
  }
}
