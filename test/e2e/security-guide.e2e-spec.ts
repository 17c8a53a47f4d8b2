import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { settings } from '../../src/base/config/settings.js';
import { parseEnvironment } from '../../src/base/config/environment.js';
import { startBroker, type TestBroker } from '../support/broker.js';

/** What docs/security.md shows is what happens. */
const bash = promisify(execFile);
const END = '--- end of a step ---';

const blocks = [...readFileSync('docs/security.md', 'utf8').matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(
  ([, language, body]) => ({ language, body }),
);
const variablesOf = (body: string) =>
  Object.fromEntries(
    body
      .trim()
      .split('\n')
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
const configurations = blocks
  .filter(({ language }) => language === 'ini')
  .map(({ body }) => variablesOf(body));
const steps = blocks.flatMap(({ language, body }, i) =>
  language === 'sh' ? [{ command: body, shown: blocks[i + 1] }] : [],
);

describe('the configurations', () => {
  it('are ones that the broker starts with', () => {
    expect(configurations.length).toBeGreaterThanOrEqual(5);
    for (const variables of configurations) {
      expect(Object.keys(variables).filter((name) => !(name in settings))).toEqual([]);
      expect(parseEnvironment(variables)).toMatchObject({ PORT: 6632 });
    }
  });
});

describe('the commands, typed one after the other', () => {
  let broker: TestBroker;
  beforeAll(async () => {
    broker = await startBroker(configurations[0]);
  });
  afterAll(() => broker.stop());

  it('print what is shown', async () => {
    expect(steps.length).toBeGreaterThanOrEqual(3);
    const script = steps.map(({ command }) => `${command}\necho; echo '${END}'`).join('\n');
    const { stdout, stderr } = await bash(
      'bash',
      ['-euo', 'pipefail', '-c', script.replaceAll('localhost:6632', `127.0.0.1:${broker.port}`)],
      { timeout: 50_000 },
    );
    expect(stderr).toBe('');
    const printed = stdout.split(END).map((text) => text.trim());
    expect(printed.slice(0, -1)).toEqual(steps.map(({ shown }) => shown.body.trim()));
    expect(steps.map(({ shown }) => shown.language)).toEqual(steps.map(() => 'text'));
  });
});
