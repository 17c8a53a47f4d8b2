import { dataDirFromEnvironment } from '../base/config/data-dir.js';
import { buildDatabaseUrl, databaseUrlFile, loadAccess } from './database-url.js';

/** The command behind `npm run -s db:url`: the URL of the embedded PostgreSQL and nothing else, for `psql $(…)`. */
try {
  const dataDir = dataDirFromEnvironment();
  const access = loadAccess(dataDir);
  if (access === null) {
    throw new Error(
      `There is no embedded PostgreSQL in ${dataDir} (no ${databaseUrlFile(dataDir)}): start the broker once without ` +
        'DATABASE_URL, or name its directory in QUEEN_DATA_DIR.',
    );
  }
  process.stdout.write(`${buildDatabaseUrl(access)}\n`);
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}
