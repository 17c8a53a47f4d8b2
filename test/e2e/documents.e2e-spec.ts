import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { settings } from '../../src/base/config/settings.js';
import { startBroker, type TestBroker } from '../support/broker.js';
import { blocksOf, jsonIn, type Block } from '../support/markdown.js';
import { expectShape } from '../support/shown.js';

/**
 * What the pages say is what happens. Each page has a broker of its own, and its blocks run in order:
 *
 *   sh       typed into a shell; a json block behind it is what is printed
 *   js       run by Node
 *   sql      run on the broker's database
 *   ts       an excerpt of the file that stands behind `ts`, which other tests compile and run
 *   console  only for what cannot run here: the scripts and files it names are looked for, and its syntax is checked
 *   ini      settings: each is one that there is
 *   text     what a command prints, when that is not JSON
 */
const ADDRESS = 'localhost:6632';
const LANGUAGES = ['sh', 'js', 'sql', 'ts', 'json', 'console', 'ini', 'text'];
const run = promisify(execFile);

/** Pages with tests of their own, which say so: what they show needs more than one plain broker. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  'dead-letters.md': 'test/e2e/dead-letters-page.e2e-spec.ts',
  'security.md': 'test/e2e/security-guide.e2e-spec.ts',
};

const pages = readdirSync('docs').filter((name) => name.endsWith('.md'));
const texts = new Map(
  [...pages.map((name) => `docs/${name}`), 'README.md'].map((path) => [path, readFileSync(path, 'utf8')]),
);

async function perform(block: Block, broker: TestBroker): Promise<string> {
  const body = block.body.replaceAll(ADDRESS, `127.0.0.1:${broker.port}`);
  const options = { timeout: 60_000 };
  if (block.language === 'sql') return JSON.stringify((await broker.database.query(body)).rows);
  const { stdout, stderr } =
    block.language === 'js'
      ? await run(process.execPath, ['--input-type=module', '-e', body], options)
      : await run('bash', ['-euo', 'pipefail', '-c', body], options);
  expect(stderr).toBe('');
  return stdout;
}

/** An excerpt on a page stands further to the left than in its file. */
function withoutIndent(text: string): string {
  return text.trim().replace(/^ +/gm, '');
}

/** Words of `$ command` lines that claim that something exists in the repository. */
function claims(text: string): string[] {
  return [...text.matchAll(/(?:^|\s)((?:docker|docs|test|src|examples|database)\/[\w./-]+)/g)].map(
    ([, path]) => path,
  );
}

describe('the pages', () => {
  it('are as many as are linked', () => {
    const readme = texts.get('README.md')!;
    for (const name of pages) expect([name, readme.includes(`docs/${name}`)]).toEqual([name, true]);
  });

  it.each([...texts])('%s links to files that exist', (path, text) => {
    const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link.replace(/#.*$/, ''));
    for (const link of links.filter((one) => one !== '' && !/^\w+:/.test(one))) {
      expect([link, existsSync(normalize(join(dirname(path), link)))]).toEqual([link, true]);
    }
  });

  it.each(pages)('%s has blocks of known kinds only', (name) => {
    for (const { language, line } of blocksOf(`docs/${name}`)) {
      expect([line, LANGUAGES.includes(language)]).toEqual([line, true]);
    }
  });

  it.each(Object.entries(ELSEWHERE).filter(([name]) => pages.includes(name)))(
    '%s is tested by %s',
    (name, test) => {
      expect(readFileSync(test, 'utf8')).toContain(`docs/${name}`);
    },
  );

  it('name scripts that exist', () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      scripts: Record<string, string>;
    };
    for (const [path, text] of texts) {
      for (const [, script] of text.matchAll(/npm run (?:-s )?([a-z][\w:-]*)/g)) {
        expect([path, script, script in scripts]).toEqual([path, script, true]);
      }
    }
  });
});

const withBlocks = pages.filter((name) => !(name in ELSEWHERE) && blocksOf(`docs/${name}`).length > 0);

describe.each(withBlocks)('docs/%s', (name) => {
  const blocks = blocksOf(`docs/${name}`);
  let broker: TestBroker;
  beforeAll(async () => {
    broker = await startBroker();
  });
  afterAll(() => broker.stop());

  it.each(
    blocks
      .map((block, i) => ({ block, next: blocks[i + 1] }))
      .filter(({ block }) => block.language !== 'json' && block.language !== 'text')
      .map(({ block, next }) => [block.line, block.body.trim().split('\n')[0], block, next] as const),
  )('line %i is true: %s', async (_, __, block, next) => {
    if (block.language === 'ts') {
      expect(withoutIndent(readFileSync(block.info, 'utf8'))).toContain(withoutIndent(block.body));
      return;
    }
    if (block.language === 'ini') {
      for (const [, setting] of block.body.matchAll(/^(\w+)=/gm))
        expect(Object.keys(settings)).toContain(setting);
      return;
    }
    if (block.language === 'console') {
      for (const path of claims(block.body)) expect([path, existsSync(path)]).toEqual([path, true]);
      for (const command of block.body.matchAll(/^\$ (.*)$/gm)) await run('bash', ['-n', '-c', command[1]]);
      return;
    }
    const printed = await perform(block, broker);
    if (next?.language === 'text') expect(printed.trim()).toBe(next.body.trim());
    if (next?.language !== 'json') return;
    const [shown, actual] = [jsonIn(next.body), jsonIn(printed)];
    expect(actual).toHaveLength(shown.length);
    shown.forEach((each, i) => expectShape(each, actual[i]));
  });
});
