import type { BrokerError } from '../base/errors/broker-error.js';
import type { PushReplay, SpoolMessage, SpoolTarget } from '../base/spool/push-spool.js';
import { mayPassLater } from '../raw-sql/sql-failure.js';
import { RecordReader } from './record-reader.js';
import type { SpoolFile } from './spool-file.js';
import { decodeRecord } from './spool-record.js';

/** `stored`: all of it. `away`: the database cannot be asked now. `poisoned`: what is left will not be taken. */
export type ReplayOutcome = 'stored' | 'away' | 'poisoned' | 'stopped';

export interface ReplayHooks {
  /** Whether the next batch may begin. */
  goOn(): boolean;
  /** A message of the file is stored. */
  onStored(message: SpoolMessage): void;
}

const BATCH_BYTES_MAX = 8 * 1024 * 1024;

interface Entry {
  readonly index: number;
  readonly message: SpoolMessage;
}

/**
 * One file on its way to the database, over as many attempts as that takes. What is stored is remembered, so another
 * attempt sends only the rest; after a restart all is sent again, and the database recognises what it has.
 */
export class FileReplay {
  attempts = 0;
  /** What the last attempt found impossible to store, by index; null where the record could not even be read. */
  poison = new Map<number, SpoolTarget | null>();
  private readonly stored = new Set<number>();

  constructor(
    readonly file: SpoolFile,
    private readonly replay: PushReplay,
    private readonly batchMax: number,
  ) {}

  get storedEvents(): number {
    return this.stored.size;
  }

  async attempt(hooks: ReplayHooks): Promise<ReplayOutcome> {
    this.poison = new Map();
    const reader = await RecordReader.open(this.file.path);
    try {
      let batch: Entry[] = [];
      let bytes = 0;
      for (let index = 0; ; index++) {
        const record = await reader.next();
        if (record === null) break;
        if (this.stored.has(index)) continue;
        const message = this.decode(record, index);
        if (!message) continue;
        batch.push({ index, message });
        bytes += record.length;
        if (batch.length < this.batchMax && bytes < BATCH_BYTES_MAX) continue;
        if (!hooks.goOn()) return 'stopped';
        if (!(await this.store(batch, hooks))) return 'away';
        batch = [];
        bytes = 0;
      }
      if (batch.length > 0) {
        if (!hooks.goOn()) return 'stopped';
        if (!(await this.store(batch, hooks))) return 'away';
      }
    } finally {
      await reader.close();
    }
    if (this.poison.size === 0) return 'stored';
    this.attempts += 1;
    return 'poisoned';
  }

  private decode(record: Buffer, index: number): SpoolMessage | null {
    try {
      return decodeRecord(record);
    } catch {
      this.poison.set(index, null);
      return null;
    }
  }

  /** False when the database is away. What it refuses may have been refused for its neighbour's sake: once more, alone. */
  private async store(batch: readonly Entry[], hooks: ReplayHooks): Promise<boolean> {
    const failures = await this.send(batch, hooks);
    if (failures.some(({ error }) => mayPassLater(error))) return false;
    for (const { entry } of failures) {
      const [again] = batch.length === 1 ? failures : await this.send([entry], hooks);
      if (!again) continue;
      if (mayPassLater(again.error)) return false;
      this.poison.set(entry.index, entry.message.target);
    }
    return true;
  }

  private async send(
    batch: readonly Entry[],
    { onStored }: ReplayHooks,
  ): Promise<{ entry: Entry; error: BrokerError }[]> {
    const verdicts = await this.replay.replay(batch.map(({ message }) => message));
    return batch.flatMap((entry, i) => {
      const error = verdicts[i];
      if (error) return [{ entry, error }];
      this.stored.add(entry.index);
      onStored(entry.message);
      return [];
    });
  }
}
