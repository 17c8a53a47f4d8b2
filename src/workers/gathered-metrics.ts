import type { Clock } from '../base/clock/clock.js';
import type { GroupMetrics, ProcessMetrics } from '../base/worker-group/worker-group.js';
import { joinFamilies, joinNumbers, remainsOf } from './join-metrics.js';
import type { WorkerProcess } from './worker-process.js';

/** A worker that has not answered by then is counted with what it said before. */
const PATIENCE_MS = 2000;

interface Round {
  readonly id: number;
  readonly waitingFor: Set<WorkerProcess>;
  finish(): void;
}

/** Asks the workers what they counted, and adds it up. Counts of workers that are gone stay in the sum. */
export class GatheredMetrics {
  private readonly latest = new Map<WorkerProcess, ProcessMetrics>();
  private remains: Promise<ProcessMetrics | null> = Promise.resolve(null);
  private round: Round | null = null;
  private answer: Promise<GroupMetrics> | null = null;
  private lastId = 0;

  constructor(
    private readonly ready: () => readonly WorkerProcess[],
    private readonly clock: Clock,
  ) {}

  /** Who asks while others do gets their answer: some numbers are of the time since they were read last. */
  gather(): Promise<GroupMetrics> {
    this.answer ??= this.ask().finally(() => (this.answer = null));
    return this.answer;
  }

  report(worker: WorkerProcess, id: number, metrics: ProcessMetrics): void {
    this.latest.set(worker, metrics);
    if (this.round?.id === id) this.settle(worker);
  }

  left(worker: WorkerProcess): void {
    const last = this.latest.get(worker);
    this.latest.delete(worker);
    if (last) {
      this.remains = this.remains.then((before) => remainsOf(before ? [before, last] : [last]));
    }
    this.settle(worker);
  }

  private async ask(): Promise<GroupMetrics> {
    await this.hearAll();
    const remains = await this.remains;
    const all = [...this.latest.values(), ...(remains ? [remains] : [])];
    return {
      exposition: await joinFamilies(all.map(({ families }) => families)).metrics(),
      numbers: joinNumbers(all.map(({ numbers }) => numbers)),
    };
  }

  private hearAll(): Promise<void> {
    const workers = this.ready();
    return new Promise((resolve) => {
      const id = ++this.lastId;
      const cancel = this.clock.after(PATIENCE_MS, () => this.round?.finish());
      const finish = () => {
        cancel();
        this.round = null;
        resolve();
      };
      this.round = { id, waitingFor: new Set(workers), finish };
      for (const worker of workers) worker.send({ kind: 'report', id });
      if (workers.length === 0) finish();
    });
  }

  private settle(worker: WorkerProcess): void {
    if (!this.round?.waitingFor.delete(worker)) return;
    if (this.round.waitingFor.size === 0) this.round.finish();
  }
}
