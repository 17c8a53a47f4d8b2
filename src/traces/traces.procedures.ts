import { timestampText } from '../base/time/iso-micros.js';
import type { MessageAddress } from '../http/message-address.js';
import { textArray } from '../raw-sql/binary-array.js';
import { procedure, scalarProcedure } from '../raw-sql/procedure.js';
import type { Page, TraceRequest } from './trace.request.js';

export interface RecordTraceArgs extends TraceRequest {
  /** Whose partition it must be; null: anybody's, as long as tenancy is off. */
  readonly owner: string | null;
  readonly id: string;
}

export const recordTraceV1 = scalarProcedure<RecordTraceArgs, { success: boolean }>({
  name: 'record_trace_v1',
  parameterTypes: ['uuid', 'uuid', 'text', 'text', 'text', 'text', 'text[]', 'uuid'],
  values: (trace) => [
    ...[trace.id, trace.partitionId, trace.transactionId, trace.group, trace.eventType, trace.data],
    ...[textArray(trace.names), trace.owner],
  ],
});

export interface TraceRow {
  readonly id: string;
  /** Microseconds since the epoch. */
  readonly createdAt: number;
  readonly eventType: string;
  /** Raw JSON text. */
  readonly data: string;
  readonly group: string;
  readonly workerId: string | null;
  readonly names: readonly string[];
}

export interface MessageTracesArgs {
  readonly address: MessageAddress;
  readonly after: TraceRow | null;
  readonly limit: number;
  readonly bytesMax: number;
}

/** Oldest first. */
export const getMessageTracesV1 = procedure<MessageTracesArgs, TraceRow>({
  name: 'get_message_traces_v1',
  parameterTypes: ['uuid', 'text', 'timestamptz', 'uuid', 'int', 'bigint', 'uuid'],
  values: ({ address, after, limit, bytesMax }) => [
    ...[address.partitionId, address.transactionId],
    ...[after && timestampText(after.createdAt), after && after.id],
    ...[limit, bytesMax, address.tenant],
  ],
  row: traceRow,
});

/** With the address of its message. */
export interface NamedTraceRow extends TraceRow {
  readonly transactionId: string;
  readonly partitionId: string;
  readonly queue: string;
  readonly partition: string;
}

export interface NamedTracesArgs extends Page {
  readonly tenant: string;
  readonly name: string;
  readonly before: TraceRow | null;
  readonly bytesMax: number;
}

/** Newest first. */
export const getTracesByNameV1 = procedure<NamedTracesArgs, NamedTraceRow>({
  name: 'get_traces_by_name_v1',
  parameterTypes: ['text', 'timestamptz', 'uuid', 'int', 'int', 'bigint', 'uuid'],
  values: ({ name, before, limit, offset, bytesMax, tenant }) => [
    ...[name, before && timestampText(before.createdAt), before && before.id],
    ...[limit, offset, bytesMax, tenant],
  ],
  row: (fields) => ({
    ...traceRow(fields),
    transactionId: fields[7] as string,
    partitionId: fields[8] as string,
    queue: fields[9] as string,
    partition: fields[10] as string,
  }),
});

export const countTracesByNameV1 = scalarProcedure<{ name: string; tenant: string }, number>({
  name: 'count_traces_by_name_v1',
  parameterTypes: ['text', 'uuid'],
  values: ({ name, tenant }) => [name, tenant],
});

/** The names as clients read them. */
export interface TraceNames {
  trace_names: { trace_name: string; trace_count: number; message_count: number; last_seen: string }[];
  total: number;
}

export const getAvailableTraceNamesV1 = scalarProcedure<Page & { tenant: string }, TraceNames>({
  name: 'get_available_trace_names_v1',
  parameterTypes: ['int', 'int', 'uuid'],
  values: ({ limit, offset, tenant }) => [limit, offset, tenant],
});

function traceRow(fields: readonly unknown[]): TraceRow {
  return {
    id: fields[0] as string,
    createdAt: fields[1] as number,
    eventType: fields[2] as string,
    data: fields[3] as string,
    group: fields[4] as string,
    workerId: fields[5] as string | null,
    names: fields[6] as string[],
  };
}
