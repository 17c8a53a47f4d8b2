import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { CLOCK, type Clock } from '../base/clock/clock.js';
import { BrokerError } from '../base/errors/broker-error.js';
import { SampledLogger } from '../base/log/sampled-logger.js';
import { PushMaintenance } from '../base/maintenance/maintenance-switch.js';
import { PushSpool, type SpoolMessage, type SpoolStats, type SpoolTarget } from '../base/spool/push-spool.js';
import { DISK, type Disk } from './disk.js';
import { Inventory } from './inventory.js';
import { FileNames, type SpoolFile } from './spool-file.js';
import { SPOOL_OPTIONS, type SpoolOptions } from './spool.options.js';
import { SpoolPlace } from './spool-place.js';
import { encodeRecord } from './spool-record.js';
import { SpoolWriter } from './spool-writer.js';
import { StrictOrder } from './strict-order.js';

/**
 * Messages that could not go to the database yet, on this broker's disk. Here is the way in, and what is known of what
 * lies there; the way out is the drain.
 */
@Injectable()
export class SpoolService extends PushSpool implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('Spool');
  private readonly failures: SampledLogger;
  private readonly place: SpoolPlace;
  private readonly inventory = new Inventory();
  private readonly writer: SpoolWriter;
  private readonly names = new FileNames();
  private readonly strict: StrictOrder | null;
  private readonly counters = { written: 0, writeFailures: 0, replayed: 0 };
  private readonly listeners = new Set<() => void>();
  private isDatabaseAway = false;
  private diskHealthy = true;
  /** Of the oldest file, stored but still counted with it. */
  private storedOfOldest = 0;

  constructor(
    private readonly maintenance: PushMaintenance,
    @Inject(DISK) disk: Disk,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(SPOOL_OPTIONS) private readonly options: SpoolOptions,
  ) {
    super();
    this.failures = new SampledLogger('Spool', () => clock.monoMs());
    this.place = new SpoolPlace(options.directories);
    this.strict = options.strictOrder ? new StrictOrder() : null;
    const directory = () => this.place.claim();
    this.writer = new SpoolWriter(directory, this.inventory, this.names, disk, clock, options);
  }

  get isEnabled(): boolean {
    return this.options.enabled;
  }

  /** Before the port opens: what an earlier broker left behind is waiting from now on. */
  async onApplicationBootstrap(): Promise<void> {
    try {
      await this.place.adopt();
      if (this.place.path === null) return;
      await this.inventory.load(this.place.path);
    } catch (error) {
      // A directory that cannot be read must not keep the broker from serving; writing will say so again.
      this.diskHealthy = false;
      this.logger.error(`the spool cannot be read: ${(error as Error).message}`);
      return;
    }
    const { events, oldest } = this.inventory;
    if (oldest === null) return;
    this.names.after(this.inventory.newestMs);
    this.strict?.begin(events);
    this.logger.log(`${events} messages of an earlier run are in ${this.place.path}, and will be stored now`);
  }

  /** After the last request: the writer has nothing to do any more, and the files stay for the next start. */
  async onApplicationShutdown(): Promise<void> {
    await this.writer.finalise().catch(() => undefined);
    const { events } = this.inventory;
    if (events > 0) this.logger.warn(`${events} messages stay in ${this.place.path} until the next start`);
    await this.place.release();
  }

  diverts(target: SpoolTarget): boolean {
    return this.maintenance.isOn || (this.strict?.holds(target) ?? false);
  }

  async write(messages: readonly SpoolMessage[]): Promise<void> {
    if (!this.isEnabled) throw new BrokerError('spool_failed');
    if (this.strict) for (const { target } of messages) this.strict.added(target);
    try {
      await this.writer.append(messages.flatMap(encodeRecord), messages.length);
      this.counters.written += messages.length;
      this.diskHealthy = true;
    } catch (cause) {
      if (this.strict) for (const { target } of messages) this.strict.undone(target);
      this.counters.writeFailures += messages.length;
      this.diskHealthy = false;
      this.failures.error('write', `messages could not be written to the spool: ${(cause as Error).message}`);
      throw new BrokerError('spool_failed', undefined, undefined, { cause });
    }
  }

  databaseAway(): void {
    if (this.isDatabaseAway) return;
    this.isDatabaseAway = true;
    this.logger.warn(`the database is away: pushes ${this.isEnabled ? 'go to the spool' : 'fail'}`);
  }

  databaseAnswered(): void {
    if (!this.isDatabaseAway) return;
    this.isDatabaseAway = false;
    this.logger.log(`the database is back; ${this.pendingEvents} messages wait in the spool`);
    for (const listener of this.listeners) listener();
  }

  /** Called when the database is back after it was away. */
  onDatabaseBack(listener: () => void): void {
    this.listeners.add(listener);
  }

  /** The oldest finished file; with nothing finished left, the active one is finished first. */
  async nextFile(): Promise<SpoolFile | null> {
    if (this.inventory.oldest === null && this.writer.activeEvents > 0) await this.writer.finalise();
    return this.inventory.oldest;
  }

  /** A message of the oldest file is stored. */
  stored({ target }: SpoolMessage): void {
    this.counters.replayed += 1;
    this.storedOfOldest += 1;
    this.strict?.left(target);
  }

  /** All of the oldest file is stored. */
  async finished(file: SpoolFile): Promise<void> {
    await this.inventory.drop(file);
    this.afterFile();
  }

  /** `kept` is what could not be stored of the oldest file, and `targets` where it should have gone. */
  async setAside(file: SpoolFile, kept: SpoolFile, targets: Iterable<SpoolTarget | null>): Promise<void> {
    await this.inventory.setAside(file, kept);
    for (const target of targets) this.strict?.left(target);
    this.afterFile();
  }

  /** This broker's directory; there is one, since there is a file. */
  get directory(): Promise<string> {
    return this.place.claim();
  }

  stats(): SpoolStats {
    const { inventory, writer } = this;
    const oldestMs = inventory.oldest?.writtenAtMs ?? writer.activeSinceMs;
    return {
      pending: this.pendingEvents,
      failed: inventory.failedEvents,
      dbHealthy: !this.isDatabaseAway,
      diskHealthy: this.diskHealthy,
      files: inventory.files + (writer.activeEvents > 0 ? 1 : 0),
      bytes: inventory.bytes + writer.activeBytes,
      failedFiles: inventory.failedFiles,
      failedBytes: inventory.failedBytes,
      ...this.counters,
      oldestAgeMs: oldestMs === null ? null : Math.max(0, this.clock.wallMs() - oldestMs),
    };
  }

  private get pendingEvents(): number {
    return this.inventory.events + this.writer.activeEvents - this.storedOfOldest;
  }

  private afterFile(): void {
    this.storedOfOldest = 0;
    const { inventory, writer } = this;
    if (inventory.oldest === null && writer.activeEvents === 0 && !writer.isBusy) this.strict?.clear();
  }
}
