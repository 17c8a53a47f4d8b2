import { isoMillis } from '../base/time/iso-millis.js';
import { RawJson, renderJson } from '../http/raw-json.js';
import type { NamedTraceRow, TraceRow } from './traces.procedures.js';

/** Traces around which the rest of the answer closes: `{"traces":[…]` and then `tail`. */
export async function* renderTraces<Row extends TraceRow>(
  pieces: AsyncIterable<readonly Row[]>,
  fieldsOf: (row: Row) => Record<string, unknown>,
  tail: Record<string, unknown> = {},
): AsyncGenerator<string> {
  let opening = '{"traces":[';
  let isEmpty = true;
  for await (const rows of pieces) {
    yield opening + rows.map((row) => renderJson(fieldsOf(row))).join(',');
    opening = ',';
    isEmpty = false;
  }
  const members = JSON.stringify(tail).slice(1, -1);
  yield `${isEmpty ? opening : ''}]${members === '' ? '' : ','}${members}}`;
}

export function traceFields(row: TraceRow): Record<string, unknown> {
  return {
    id: row.id,
    event_type: row.eventType,
    data: new RawJson(row.data),
    consumer_group: row.group,
    worker_id: row.workerId,
    created_at: isoMillis(row.createdAt),
    trace_names: row.names,
  };
}

export function namedTraceFields(row: NamedTraceRow): Record<string, unknown> {
  return {
    ...traceFields(row),
    transaction_id: row.transactionId,
    partition_id: row.partitionId,
    queue_name: row.queue,
    partition_name: row.partition,
    message_payload: null,
  };
}
