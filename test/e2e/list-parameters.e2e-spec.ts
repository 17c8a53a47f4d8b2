import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startBroker, type TestBroker } from '../support/broker.js';
import { clientOf, type Client } from '../support/client.js';
import { countRows } from '../support/make.js';

/*
 * Field cases A05 and A07 on the routes that list: what comes in a query is a value of a statement and never part of it,
 * and a number is a plain decimal or a 400 that names the parameter. (Pops: test/e2e/pop-parameters.e2e-spec.ts; names in
 * paths and bodies: test/e2e/names.e2e-spec.ts.)
 */

const LISTS = [
  '/api/v1/resources/queues',
  '/api/v1/resources/queues/q',
  '/api/v1/messages',
  '/api/v1/dlq',
  '/api/v1/consumer-groups/lagging',
  '/api/v1/consumer-groups/g',
  '/api/v1/status/queues',
  '/api/v1/status/queues/q',
  '/api/v1/status/analytics',
  '/api/v1/traces/names',
];
const FILTERS = [
  'queue',
  'partition',
  'consumerGroup',
  'namespace',
  'task',
  'status',
  'order',
  'orderBy',
  'sort',
  'from',
  'to',
];
const SQL = [
  "x'; drop table queen.queues;--",
  '"',
  '$$',
  '%s',
  '\\',
  'name;select pg_sleep(60)',
  '1 or 1=1',
  ':p',
  '{0}',
];
const NO_NUMBERS = ['1.5', 'NaN', 'Infinity', '1e9', '0x10', '10abc', '%20', '9007199254740993', '१'];

let broker: TestBroker;
let at: Client;
beforeAll(async () => {
  broker = await startBroker();
  at = clientOf(broker.port);
  await at.push([{ queue: 'q', partition: 'p', payload: 1 }]);
  await at.pop('q', { consumerGroup: 'g' });
});
afterAll(() => broker.stop());

describe.each(LISTS)('GET %s', (route) => {
  it('is there', async () => {
    expect([200, 400]).toContain((await at.get(route)).status);
  });

  it('takes any text as a value and never as part of a statement (A05)', async () => {
    for (const name of FILTERS) {
      const answers = await Promise.all(
        SQL.map((text) => at.get<{ code?: string }>(`${route}?${name}=${encodeURIComponent(text)}`)),
      );
      answers.forEach(({ status, body }, i) => {
        expect([name, SQL[i], status < 500, body.code ?? '']).toEqual([
          name,
          SQL[i],
          true,
          expect.not.stringContaining('sql'),
        ]);
      });
    }
    expect(await countRows(broker.database, 'queues')).toBe(1);
  });

  it('refuses what is no plain decimal as limit or offset, or has neither (A07)', async () => {
    for (const name of ['limit', 'offset']) {
      const plain = await at.get(`${route}?${name}=1`);
      const odd = await Promise.all(
        NO_NUMBERS.map((value) => at.get<{ parameters?: string[] }>(`${route}?${name}=${value}`)),
      );
      odd.forEach(({ status, body, text }, i) => {
        // A route without paging does not look at it at all: it answers as without.
        if (status === 400 && plain.status === 200)
          expect([NO_NUMBERS[i], text]).toEqual([NO_NUMBERS[i], expect.stringContaining(name)]);
        else expect([NO_NUMBERS[i], status, typeof body]).toEqual([NO_NUMBERS[i], plain.status, 'object']);
      });
    }
  });
});
