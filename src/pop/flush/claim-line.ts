import { Fifo } from '../../base/fifo.js';
import type { ClaimJob } from './claim-job.js';

/**
 * Pops that wait for the next statement. Queues take turns, and within a queue it is first come first served: a queue
 * with five hundred consumers cannot keep the pop of another one waiting for more than a turn. A queue without a waiting
 * pop is not here, so names of clients pin no memory (G7). Pure.
 */
export class ClaimLine {
  private readonly byQueue = new Map<string, QueueLine>();
  private waiting = 0;

  get size(): number {
    return this.waiting;
  }

  push(job: ClaimJob): void {
    const { key } = job.request;
    let line = this.byQueue.get(key);
    if (!line) {
      line = new QueueLine((left) => {
        this.waiting -= 1;
        if (left === 0) this.byQueue.delete(key);
      });
      this.byQueue.set(key, line);
    }
    line.push(job);
    this.waiting += 1;
  }

  /** The next one, taken out; null when nobody waits. */
  shift(): ClaimJob | null {
    for (const [key, line] of this.byQueue) {
      const job = line.shift();
      if (line.size > 0) {
        this.byQueue.delete(key);
        this.byQueue.set(key, line); // behind the other queues
      }
      return job;
    }
    return null;
  }
}

/** Jobs leave by themselves as well, so it is the line that tells. */
class QueueLine extends Fifo<ClaimJob> {
  constructor(private readonly onLeft: (left: number) => void) {
    super();
  }

  override remove(job: ClaimJob): boolean {
    const removed = super.remove(job);
    if (removed) this.onLeft(this.size);
    return removed;
  }
}
