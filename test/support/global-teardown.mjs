/** Drops the template and the clones that failed tests left behind, then stops the server if the run started it. */
import pg from 'pg';

export default async function globalTeardown() {
  const server = globalThis.__queenTestPostgres;
  if (server === undefined) return;
  try {
    await dropDatabases(server.adminUrl, process.env.QUEEN_TEST_TEMPLATE);
  } finally {
    await server.stop();
  }
}

async function dropDatabases(adminUrl, template) {
  const admin = new pg.Client({ connectionString: adminUrl });
  await admin.connect();
  try {
    // A clone's name begins with its template's: another run on the same server keeps its own.
    const { rows } = await admin.query(
      'select datname from pg_database where starts_with(datname, $1) order by datname desc',
      [template],
    );
    for (const { datname } of rows) await admin.query(`drop database if exists "${datname}" with (force)`);
  } finally {
    await admin.end();
  }
}
