import { Global, Inject, Injectable, Module, type DynamicModule } from '@nestjs/common';
import type { CandidateSource } from '../../src/pop/candidate-source/candidate-source.js';
import { OWN_SOURCES, type OwnSources } from '../../src/pop/candidate-source/own-sources.js';
import type { ClaimedPartition } from '../../src/pop/claim.js';
import { logPartitionsHavePendingV1, logPopSpecificV1, partitionsOf } from '../../src/pop/pop.procedures.js';
import type { PopRequest } from '../../src/pop/pop.request.js';
import type { SqlConnection } from '../../src/raw-sql/connection-lease.js';
import { RawSqlService } from '../../src/raw-sql/raw-sql.service.js';

/** A group that reads some partitions of a queue only, the first of them first. */
export interface Pin {
  queue: string;
  consumerGroup: string;
  partitions: readonly string[];
}

/** Candidates are the partitions of the pin, in its order; the broker does the rest. */
class PinnedSource implements CandidateSource {
  readonly path = 'own';

  constructor(
    private readonly partitions: readonly string[],
    private readonly rawSql: RawSqlService,
  ) {}

  /** The look: one cheap statement without a permit. `false` parks the pop until a push to the queue, or the next poll. */
  async mayHaveWork(request: PopRequest): Promise<boolean> {
    const questions = this.partitions.map((partition) => ({ ...request, partition }));
    return (await this.rawSql.call(logPartitionsHavePendingV1, questions)).includes(true);
  }

  /** The claim, on the connection that the pop has: partition by partition, until the batch is full. */
  async claim(connection: SqlConnection, request: PopRequest): Promise<ClaimedPartition[]> {
    const claimed: ClaimedPartition[] = [];
    let batch = request.batch;
    for (const partition of this.partitions) {
      if (batch <= 0 || claimed.length >= request.partitions) break;
      const rows = await connection.call(logPopSpecificV1, { ...request, partition, batch });
      for (const row of rows) if (row.kind === 'segment') batch -= row.segment.take;
      claimed.push(...partitionsOf(rows));
    }
    return claimed;
  }

  /** Memory knows nothing about it: the probe is asked again. */
  stillQuiet(): undefined {
    return undefined;
  }

  estimate(): number {
    return Infinity;
  }
}

const PINS = Symbol('Pins');

@Injectable()
export class PinnedSources implements OwnSources {
  private readonly sources: ReadonlyMap<string, PinnedSource>;

  constructor(@Inject(PINS) pins: readonly Pin[], rawSql: RawSqlService) {
    this.sources = new Map(
      pins.map((pin) => [keyOf(pin.queue, pin.consumerGroup), new PinnedSource(pin.partitions, rawSql)]),
    );
  }

  sourceFor({ scope, queue, group }: PopRequest): CandidateSource | null {
    if (scope !== 'queue') return null;
    return this.sources.get(keyOf(queue, group)) ?? null;
  }
}

function keyOf(queue: string, group: string): string {
  return `${queue}\u001f${group}`;
}

/** Global, because the pop module asks for the token and knows nothing of this one. */
@Global()
@Module({})
export class PinnedPartitionsModule {
  static with(pins: readonly Pin[]): DynamicModule {
    return {
      module: PinnedPartitionsModule,
      providers: [
        { provide: PINS, useValue: pins },
        { provide: OWN_SOURCES, useClass: PinnedSources },
      ],
      exports: [OWN_SOURCES],
    };
  }
}
