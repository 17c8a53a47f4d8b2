/**
 * What the schema code needs of a connection; `pg.Client` fits. It must be one session for its whole life (no
 * transaction pooler in between), and whoever makes a pg.Client has to give it an `error` listener, or a connection
 * that breaks while idle ends the process.
 */
export interface SqlSession {
  query(text: string, values?: unknown[]): Promise<{ rows: Record<string, unknown>[] }>;
  end(): Promise<void>;
}

export type OpenSession = () => Promise<SqlSession>;
