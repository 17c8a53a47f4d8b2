/**
 * The shape every `*.procedures.ts` is written in: a stored procedure's name, how its arguments are laid out and
 * how a row is decoded. Nothing else in the broker spells SQL for the message path.
 */
export interface Procedure<Args, Row> {
  /** Function name in schema `queen`, without the schema. Also the name of the prepared statement. */
  readonly name: string;
  readonly text: string;
  /** Parameter types in order, as the database declares them; checked against pg_proc by test/tidy. */
  readonly parameterTypes: readonly string[];
  values(args: Args): unknown[];
  /** `fields` are in column order, already decoded by type (see field-types.ts). */
  row(fields: readonly unknown[]): Row;
}

export interface ProcedureDefinition<Args, Row> {
  name: string;
  parameterTypes: readonly string[];
  values(args: Args): unknown[];
  row(fields: readonly unknown[]): Row;
}

/** A procedure called as `select * from queen.name($1::type, …)`. */
export function procedure<Args, Row>(definition: ProcedureDefinition<Args, Row>): Procedure<Args, Row> {
  const parameters = definition.parameterTypes.map((type, i) => `$${i + 1}::${type}`).join(', ');
  return { ...definition, text: `select * from queen.${definition.name}(${parameters})` };
}

/** A procedure with one scalar or jsonb result. */
export function scalarProcedure<Args, Result>(
  definition: Omit<ProcedureDefinition<Args, Result>, 'row'> & {
    row?: (fields: readonly unknown[]) => Result;
  },
): Procedure<Args, Result> {
  return procedure({ row: (fields) => fields[0] as Result, ...definition });
}
