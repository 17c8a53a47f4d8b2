import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startBroker, type TestBroker } from '../support/broker.js';
import { blocksOf } from '../support/markdown.js';
import { expectShape } from '../support/shown.js';

const ADDRESS = 'localhost:6632';
const bash = promisify(execFile);

interface Step {
  command: string;
  /** The JSON that README.md shows below it; empty for none. */
  shown: string;
}

/** Every block of README.md to be typed into a shell, in order. */
function steps(): Step[] {
  const blocks = blocksOf('README.md');
  return blocks.flatMap(({ language, body }, i) => {
    if (language !== 'sh') return [];
    const next = blocks[i + 1];
    return [{ command: body.trim(), shown: next?.language === 'json' ? next.body : '' }];
  });
}

const all = steps();
const setUp = all.filter(({ command }) => !command.includes(ADDRESS));
const tour = all.filter(({ command }) => command.includes(ADDRESS));

/** What a step that shows no answer must print, by what it does. */
const answers: [about: string, does: RegExp, check: (output: string) => void][] = [
  ['push', /-d '\{"items"/, (output) => expect(output).toContain('"status":"queued"')],
  [
    'ack',
    /ack\/batch/,
    (output) => expect(JSON.parse(output)).toMatchObject([{ success: true }, { success: true }]),
  ],
  ['no content', /%\{http_code\}/, (output) => expect(output.trim()).toBe('204')],
  ['long-poll', /wait=true/, (output) => expect(output).toMatch(/"messages":\[\{.*"data":\{"total":99\}/)],
  [
    'auto-ack',
    /autoAck=true/,
    (output) =>
      expect(JSON.parse(output)).toMatchObject({
        leaseId: '',
        messages: expect.arrayContaining([expect.objectContaining({ data: { total: 99 } })]),
      }),
  ],
  [
    'configure',
    /configure/,
    (output) =>
      expect(JSON.parse(output)).toMatchObject({
        configured: true,
        options: { leaseTime: 60, retryLimit: 5 },
      }),
  ],
];

describe('the set-up commands', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };

  it('are two: one runs the broker, one the tests', () => {
    expect(setUp.slice(0, 2).map(({ command }) => command)).toEqual([
      'npm ci && npm start',
      'npm ci && npm test',
    ]);
  });

  it('build what they need', () => {
    expect(scripts.prestart).toBe('npm run build');
    expect(scripts.start).toMatch(/^node (--\S+ )*dist\/main\.js$/);
    expect(scripts.pretest).toBe('npm run build');
    expect(scripts.test).toContain('jest');
    expect(scripts.build).toBeDefined();
  });

  it('and whatever else README.md tells people to run exists', () => {
    const text = readFileSync('README.md', 'utf8');
    const named = [...text.matchAll(/npm (?:run )?(?:-s )?(?:run )?([a-z][\w:-]*)/g)].map(
      ([, script]) => script,
    );
    const ofNpm = new Set(['ci', 'install', 'run']);
    for (const script of named.filter((name) => !ofNpm.has(name)))
      expect(Object.keys(scripts)).toContain(script);
  });
});

describe('the tour', () => {
  let broker: TestBroker;
  beforeAll(async () => {
    broker = await startBroker();
  });
  afterAll(() => broker.stop());

  it('is there, and shows every kind of step', () => {
    expect(tour.length).toBeGreaterThanOrEqual(7);
    for (const [about, does] of answers)
      expect([about, tour.some(({ command }) => does.test(command))]).toEqual([about, true]);
  });

  it.each<[number, string, Step]>(tour.map((step, i) => [i + 1, step.command.split('\n')[0], step]))(
    'step %i works as shown: %s',
    async (_, __, { command, shown }) => {
      const script = command.replaceAll(ADDRESS, `127.0.0.1:${broker.port}`);
      const { stdout, stderr } = await bash('bash', ['-euo', 'pipefail', '-c', script], { timeout: 30_000 });
      expect(stderr).toBe('');
      expect(stdout).not.toContain('"error":"');
      if (shown !== '') expectShape(JSON.parse(shown), JSON.parse(stdout));
      for (const number of shown.match(/\d+\.\d+/g) ?? []) expect(stdout).toContain(number); // its spelling, too
      for (const [, does, check] of answers) if (does.test(command)) check(stdout);
    },
    40_000,
  );
});
