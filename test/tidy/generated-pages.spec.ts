import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { configurationPage } from '../../src/docs/configuration-page.js';
import { errorsPage } from '../../src/docs/errors-page.js';
import { limitsPage } from '../../src/docs/limits-page.js';
import { metricsPage } from '../../src/docs/metrics-page.js';

/** These pages are what a user reads when something fails; one that lags behind the code is worse than none. */
describe('pages made from tables', () => {
  it.each([
    ['docs/errors.md', errorsPage],
    ['docs/configuration.md', configurationPage],
    ['docs/metrics.md', metricsPage],
    ['docs/limits.md', limitsPage],
  ])('%s says what the code does; if not, run `npm run docs`', (path, page) => {
    expect(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')).toBe(page());
  });
});
