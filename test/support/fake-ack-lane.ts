import type { AckConnection, AckLane } from '../../src/ack/ack-lane.js';

/** A lane whose statements answer when the spec says so. */
export class FakeAckLane<Row> {
  readonly sent: Row[][] = [];
  readonly procedures: string[] = [];
  held = 0;
  heldMax = 0;
  refusal: Error | null = null;
  private readonly pending: { resolve(results: unknown): void; reject(error: Error): void }[] = [];
  private readonly doors: (() => void)[] = [];
  closed = false;

  async run<T>(work: (connection: AckConnection) => Promise<T>): Promise<T> {
    await Promise.resolve(); // no permit and no connection is ever had in the same turn
    if (this.closed) await new Promise<void>((resolve) => this.doors.push(resolve));
    if (this.refusal) throw this.refusal;
    this.held += 1;
    this.heldMax = Math.max(this.heldMax, this.held);
    try {
      return await work({
        callOne: (procedure, args) => {
          this.procedures.push(procedure.name);
          this.sent.push(args as Row[]);
          return new Promise((resolve, reject) =>
            this.pending.push({ resolve: resolve as (results: unknown) => void, reject }),
          );
        },
        call: () => Promise.reject(new Error('not used by a flush')),
      });
    } finally {
      this.held -= 1;
    }
  }

  /** For the constructor of whoever is tried out. */
  get asLane(): AckLane {
    return this as unknown as AckLane;
  }

  open(): void {
    this.closed = false;
    for (const door of this.doors.splice(0)) door();
  }

  /** Answers the oldest statement under way. */
  async answer(results: unknown): Promise<void> {
    await turn();
    const { resolve, reject } = this.pending.shift()!;
    if (results instanceof Error) reject(results);
    else resolve(results);
    await turn();
  }

  async answerOk(): Promise<void> {
    await turn();
    await this.answer(this.sent.at(-1)!.map(() => ({ ok: true })));
  }
}

export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
