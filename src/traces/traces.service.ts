import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, type Clock } from '../base/clock/clock.js';
import { BrokerError } from '../base/errors/broker-error.js';
import { inPieces } from '../base/in-pieces.js';
import type { MessageAddress } from '../http/message-address.js';
import { RawSqlService } from '../raw-sql/raw-sql.service.js';
import { mintUuid, uuidText } from '../segment/uuid-v7.js';
import type { Page, TraceRequest } from './trace.request.js';
import {
  countTracesByNameV1,
  getAvailableTraceNamesV1,
  getMessageTracesV1,
  getTracesByNameV1,
  type NamedTraceRow,
  recordTraceV1,
  type TraceNames,
  type TraceRow,
} from './traces.procedures.js';

/** Data of one piece of a list. */
const PIECE_BYTES = 4 * 1024 * 1024;
const PIECE_TRACES = 1000;

/** What applications record about their messages, by message and by name. */
@Injectable()
export class TracesService {
  constructor(
    private readonly rawSql: RawSqlService,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** The id of the trace. @throws BrokerError `message_not_found` for a partition that is not the owner's */
  async record(owner: string | null, trace: TraceRequest): Promise<string> {
    const id = uuidText(mintUuid(this.clock.wallMs()));
    const { success } = await this.rawSql.callOne(recordTraceV1, { ...trace, owner, id });
    if (success) return id;
    throw new BrokerError('message_not_found', 'Message not found', { success: false });
  }

  /** All of a message, oldest first, in pieces of bounded size. */
  ofMessage(address: MessageAddress): AsyncGenerator<readonly TraceRow[]> {
    return inPieces<TraceRow>(Infinity, (after) =>
      this.rawSql.call(getMessageTracesV1, {
        address,
        after,
        limit: PIECE_TRACES,
        bytesMax: PIECE_BYTES,
      }),
    );
  }

  /** A page, newest first, in pieces of bounded size. */
  byName(tenant: string, name: string, { limit, offset }: Page): AsyncGenerator<readonly NamedTraceRow[]> {
    return inPieces<NamedTraceRow>(limit, (before, wanted) =>
      this.rawSql.call(getTracesByNameV1, {
        ...{ tenant, name, before },
        limit: wanted,
        offset: before ? 0 : offset,
        bytesMax: PIECE_BYTES,
      }),
    );
  }

  countByName(tenant: string, name: string): Promise<number> {
    return this.rawSql.callOne(countTracesByNameV1, { tenant, name });
  }

  names(tenant: string, page: Page): Promise<TraceNames> {
    return this.rawSql.callOne(getAvailableTraceNamesV1, { tenant, ...page });
  }
}
