import type pg from 'pg';

/**
 * Whether something between us and PostgreSQL hands our session on: a pooler tells its clients a process number of its
 * own making, because the backend changes under them. A plain TCP proxy passes the true one on.
 */
export async function isPooled(client: pg.Client): Promise<boolean> {
  const { processID } = client as unknown as { processID: number | null };
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return rows[0].pid !== processID;
}
