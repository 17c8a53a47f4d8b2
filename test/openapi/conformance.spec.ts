import { Agent } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import pg from 'pg';
import { openApiDocument } from '../../src/openapi/document.js';
import { acksFor, queuePath, startBroker, type TestBroker } from '../support/broker.js';
import { exchange, type Exchange, type Sent } from '../support/http-exchange.js';
import { SchemaChecks, type Check } from '../support/openapi-ajv.js';
import { operationsOf, type DocumentedOperation } from '../support/openapi-document.js';
import { requestsOf, type Known } from './requests.js';

/**
 * Drives a broker from its own document: whatever a client makes of it, and whatever it gets wrong, the answer is one
 * of those that the document names, of the shape that it gives, and none of them is a failure of the broker.
 *
 * QUEEN_TEST_SEED and QUEEN_TEST_PATH run again what fast-check names in a failure; QUEEN_TEST_RUNS makes it longer.
 */
const SEED = Number(process.env.QUEEN_TEST_SEED ?? Date.now() % 1_000_000_000);
const PATH = process.env.QUEEN_TEST_PATH;
const RUNS = Number(process.env.QUEEN_TEST_RUNS ?? 30);
/** What is slow on a busy machine is cut short; what hangs is not. */
const OPERATION_MS = 500;
const ANSWER_WITHIN_MS = 20_000;

const document = openApiDocument();
const operations = operationsOf(document);
const checks = new SchemaChecks(document, true);
const compiled = new Map<string, Check>();

/** Null, or in what the answer differs from the document. */
function fault({ route, method, responses }: DocumentedOperation, answer: Exchange): string | null {
  const { status, headers, body } = answer;
  const text = body.toString();
  const documented = responses[String(status)];
  if (!documented) return `status ${status} is not documented: ${text}`;
  if (!headers['x-request-id']) return 'there is no X-Request-Id';
  const media = Object.entries(documented.content ?? {});
  if (media.length === 0 || method === 'HEAD')
    return text === '' ? null : `a body, where none is documented: ${text}`;
  const type = String(headers['content-type']).split(';')[0];
  const found = media.find(([one]) => one === type || one === '*/*');
  if (!found) return `the type ${type} is not documented for ${status}`;
  const key = `${route} ${status} ${found[0]}`;
  const check = compiled.get(key) ?? checks.of(found[1].schema);
  compiled.set(key, check);
  const wrong = check(type === 'application/json' ? JSON.parse(text) : text);
  return wrong === null ? null : `${status} is not of its shape: ${wrong}: ${text}`;
}

/** Switches that would make every later answer the same are put back at once. */
const SWITCHES = ['/api/v1/system/maintenance', '/api/v1/system/maintenance/pop'];

interface World {
  known: Known;
  /** A dead letter for each of the operations that use one up, by the transactionId of its message. */
  letters: ReadonlyMap<string, string>;
}

/** A little of everything that routes can ask for. */
async function populate(broker: TestBroker, queue: string): Promise<World> {
  await broker.configure(queue, { leaseTime: 300 });
  await broker.push(
    ['a', 'b', 'c', 'd', 'e'].map((id) => ({
      queue,
      partition: 'p',
      transactionId: id,
      payload: { id },
      headers: { kind: 'test' },
    })),
  );
  for (const _ of ['a', 'b', 'c']) {
    const { body } = await broker.pop(queuePath(queue), { consumerGroup: 'g', batch: 1 });
    await broker.ackBatch(acksFor(body.messages, 'dlq', 'no use'));
  }
  const leased = await broker.pop(queuePath(queue), { consumerGroup: 'g', batch: 1 });
  const { partitionId, leaseId } = leased.body;
  await broker.post('/api/v1/traces', { transactionId: 'b', partitionId, data: [1], traceNames: ['n'] });
  const { body } = await broker.get(`/api/v1/dlq?queue=${queue}`);
  const { messages } = body as { messages: { id: string; transactionId: string }[] };
  return {
    letters: new Map(messages.map(({ id, transactionId }) => [transactionId, id])),
    known: {
      queue: [queue, 'fuzz.other'],
      partition: ['p', 'Default', ''],
      group: ['g', 'h'],
      consumerGroup: ['g', 'h'],
      namespace: [queue.split('.')[0]],
      task: ['mail'],
      partitionId: [partitionId],
      transactionId: ['a', 'b', 'c', 'd', 'e'],
      leaseId: [leaseId],
      id: messages.map(({ id }) => id),
      traceName: ['n'],
      asset: ['start.js', 'swagger-ui.css', 'page.css'],
    },
  };
}

/** The example of an operation, with names that this broker knows. */
function exampleOf(
  { method, path, parameters, body }: DocumentedOperation,
  values: Record<string, string>,
): Sent {
  const valueOf = (name: string) =>
    values[name] ?? String(parameters.find((one) => one.name === name)!.example);
  const route = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(valueOf(name)));
  const isDiscovery = parameters.some(({ name }) => name === 'namespace') && path === '/api/v1/pop';
  const isPurge = method === 'DELETE' && path === '/api/v1/dlq';
  const query = isDiscovery ? `?namespace=${valueOf('namespace')}` : isPurge ? '?queue=orders' : '';
  const text = body ? JSON.stringify(body.media.example) : null;
  return { method, path: route + query, body: text };
}

/** Looking first, deleting last. */
const ORDER = ['GET', 'HEAD', 'POST', 'DELETE'];
const inOrder = [...operations].sort((a, b) => ORDER.indexOf(a.method) - ORDER.indexOf(b.method));

describe(`a broker and its document (seed ${SEED})`, () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  let broker: TestBroker;
  let known: Known;
  let letters: World['letters'];
  beforeAll(async () => {
    broker = await startBroker();
    ({ known, letters } = await populate(broker, 'examples.mail'));
  });
  afterAll(async () => {
    agent.destroy();
    await broker.stop();
  });

  it.each(inOrder.map((operation) => [operation.route, operation] as const))(
    'agree on the example of %s, which works',
    async (_, operation) => {
      const first = Object.fromEntries(Object.entries(known).map(([name, [value]]) => [name, value]));
      const own: Record<string, Record<string, string>> = {
        retryMessage: { transactionId: 'b' },
        replayDeadLetter: { id: letters.get('c')! },
        deleteQueue: { queue: known.queue[1] }, // the others are not done with the first
      };
      const sent = exampleOf(operation, { ...first, ...own[operation.id] });
      const answer = await exchange(agent, broker.port, sent, ANSWER_WITHIN_MS);
      expect(fault(operation, answer)).toBeNull();
      expect([answer.body.toString(), Math.floor(answer.status / 100)]).toEqual([answer.body.toString(), 2]);
    },
  );

  async function drive(operation: DocumentedOperation, isHostile: boolean): Promise<Set<number>> {
    const seen = new Set<number>();
    const endMs = performance.now() + OPERATION_MS;
    await fc.assert(
      fc.asyncProperty(requestsOf(document, operation, known, isHostile), async (sent: Sent) => {
        if (seen.size > 0 && performance.now() > endMs) return;
        const answer = await exchange(agent, broker.port, sent, ANSWER_WITHIN_MS);
        seen.add(answer.status);
        if (SWITCHES.includes(operation.path)) await broker.post(operation.path, { enabled: false });
        expect(fault(operation, answer)).toBeNull();
        expect(answer.status).toBeLessThan(500);
      }),
      {
        ...{ seed: SEED, path: PATH, numRuns: RUNS },
      },
    );
    return seen;
  }

  // A queue of its own for each way: the one before has left nothing of its queue.
  describe.each([
    ['as documented', false, 'documented.mail'],
    ['in every other way', true, 'hostile.mail'],
  ])('used %s', (_, isHostile, queue) => {
    beforeAll(async () => {
      ({ known } = await populate(broker, queue));
    });

    it.each(inOrder.map((operation) => [operation.route, operation] as const))(
      'agree on %s',
      async (__, operation) => {
        const seen = await drive(operation, isHostile);
        expect(seen.size).toBeGreaterThan(0);
      },
    );
  });

  it('agree after all that on what a healthy broker is', async () => {
    expect((await broker.get('/health/ready')).status).toBe(200);
  });
});

describe('a broker without its database', () => {
  const agent = new Agent({ keepAlive: true });
  const admin = new pg.Client({ connectionString: process.env.QUEEN_TEST_ADMIN_URL });
  let broker: TestBroker;

  async function letIn(isOpen: boolean): Promise<void> {
    const { name } = broker.database;
    await admin.query(`alter database ${name} with allow_connections ${isOpen}`);
    if (isOpen) return;
    await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name]);
  }

  beforeAll(async () => {
    await admin.connect();
    broker = await startBroker({ QUEEN_SPOOL: false });
    await populate(broker, 'away.mail');
    await letIn(false);
  });
  afterAll(async () => {
    agent.destroy();
    await letIn(true);
    await admin.end();
    await broker.stop();
  });

  it.each(operations.map((operation) => [operation.route, operation] as const))(
    'fails at %s as documented, if it fails',
    async (_, operation) => {
      const answer = await exchange(agent, broker.port, exampleOf(operation, {}), ANSWER_WITHIN_MS);
      expect(fault(operation, answer)).toBeNull();
    },
  );
});
