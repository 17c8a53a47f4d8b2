/**
 * One PostgreSQL for the whole run, and in it one template database with the schema applied, which every test file
 * clones. Plain JavaScript over the compiled code in dist/, because jest does not transform its setup files.
 */
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { postgresForTests } from './test-postgres.mjs';

export default async function globalSetup() {
  const server = await postgresForTests();
  try {
    const template = `queen_tpl_${randomBytes(4).toString('hex')}`;
    await createTemplate(server.adminUrl, template);
    process.env.QUEEN_TEST_ADMIN_URL = server.adminUrl;
    process.env.QUEEN_TEST_TEMPLATE = template;
    // The teardown runs in this process too; the workers only see the environment.
    globalThis.__queenTestPostgres = server;
    process.stdout.write(`\nPostgreSQL for the tests: ${server.description}\n`);
  } catch (error) {
    await server.stop();
    throw error;
  }
}

async function createTemplate(adminUrl, template) {
  const { SchemaApplier } = await import('../../dist/schema/schema.applier.js');
  const admin = new pg.Client({ connectionString: adminUrl });
  await admin.connect();
  try {
    await admin.query(`create database ${template}`);
    const url = new URL(adminUrl);
    url.pathname = `/${template}`;
    const connect = async () => {
      const client = new pg.Client({ connectionString: url.href });
      await client.connect();
      return client;
    };
    try {
      await new SchemaApplier(connect, () => undefined).apply();
      // Fresh statistics for every clone: plans are pinned by tests, and a clone starts with what its template has.
      const client = await connect();
      await client.query('analyze').finally(() => client.end());
    } catch (error) {
      await admin.query(`drop database if exists ${template} with (force)`);
      throw error;
    }
  } finally {
    await admin.end();
  }
}
