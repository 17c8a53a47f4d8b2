import { resolve } from 'node:path';
import { settings } from './settings.js';

/**
 * Where the embedded PostgreSQL and its URL live: QUEEN_DATA_DIR, as an absolute path. Read on its own, so that the
 * command that prints the URL does not fail for a fault in some other setting.
 */
export function dataDirFromEnvironment(
  source: Readonly<Record<string, string | undefined>> = process.env,
): string {
  return resolve(source.QUEEN_DATA_DIR?.trim() || settings.QUEEN_DATA_DIR.default);
}
