import { writeFileSync } from 'node:fs';
import { configurationPage } from './configuration-page.js';
import { errorsPage } from './errors-page.js';
import { limitsPage } from './limits-page.js';
import { metricsPage } from './metrics-page.js';

/** npm run docs: the pages that are made from tables in the code. */
const docs = new URL('../../docs/', import.meta.url);
writeFileSync(new URL('errors.md', docs), errorsPage());
writeFileSync(new URL('configuration.md', docs), configurationPage());
writeFileSync(new URL('metrics.md', docs), metricsPage());
writeFileSync(new URL('limits.md', docs), limitsPage());
