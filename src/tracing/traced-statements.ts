import { SpanKind, type Tracer } from '@opentelemetry/api';
import type { SqlConnection } from '../raw-sql/connection-lease.js';
import type { Procedure } from '../raw-sql/procedure.js';
import type { RawSqlService } from '../raw-sql/raw-sql.service.js';
import { ATTRIBUTE, DATABASE } from './attributes.js';
import { inSpan, requestSpan } from './in-span.js';

/**
 * A span for each stored procedure that a traced request runs: the claim of a pop, the look-up of an ack. A flush that
 * many requests share is a child of the one that set it off.
 */
export function traceStatements(rawSql: RawSqlService, tracer: Tracer): void {
  const withConnection = rawSql.withConnection.bind(rawSql);
  rawSql.withConnection = (gone, run) =>
    withConnection(gone, (connection) => run(requestSpan() ? traced(connection, tracer) : connection));
}

function traced(connection: SqlConnection, tracer: Tracer): SqlConnection {
  return {
    call: (procedure, args) =>
      inStatement(tracer, procedure, async (rows) => {
        const found = await connection.call(procedure, args);
        rows(found.length);
        return found;
      }),
    callOne: (procedure, args) =>
      inStatement(tracer, procedure, async (rows) => {
        const found = await connection.callOne(procedure, args);
        rows(1);
        return found;
      }),
  };
}

function inStatement<T>(
  tracer: Tracer,
  { name }: Pick<Procedure<never, unknown>, 'name'>,
  run: (rows: (count: number) => void) => Promise<T>,
): Promise<T> {
  if (!requestSpan()) return run(() => undefined);
  const attributes = { [ATTRIBUTE.dbSystem]: DATABASE, [ATTRIBUTE.dbProcedure]: name };
  return inSpan(tracer, name, { kind: SpanKind.CLIENT, attributes }, (span) =>
    run((count) => span.setAttribute(ATTRIBUTE.dbRows, count)),
  );
}
