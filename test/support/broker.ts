import { jest } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OwnModules } from '../../src/app.module.js';
import { ALONE } from '../../src/base/worker-group/worker-group.js';
import { createBroker, type Broker } from '../../src/boot/create-broker.js';
import { databaseFrom } from '../../src/boot/database-from.js';
import { parseEnvironment } from '../../src/base/config/environment.js';
import { createTestDatabase, type TestDatabase } from './database.js';

// A broker starts in a fraction of a second, and in several on a machine that is busy with other things.
jest.setTimeout(60_000);

/** A broker on a port of its own with a database of its own, in this process. */
export interface TestBroker {
  readonly base: string;
  readonly port: number;
  readonly broker: Broker;
  readonly database: TestDatabase;
  push(items: PushItem[], init?: RequestInit): Promise<Answer>;
  pop(
    path: string,
    query?: Record<string, string | number | boolean>,
    init?: RequestInit,
  ): Promise<Answer<PopBody>>;
  ack(body: unknown): Promise<Answer<AckResult[]>>;
  ackBatch(body: unknown): Promise<Answer<AckResult[]>>;
  get(path: string): Promise<Answer>;
  post(path: string, body?: unknown): Promise<Answer>;
  del(path: string): Promise<Answer>;
  configure(queue: string, options: Record<string, unknown>): Promise<Answer>;
  /** Closes the broker; drops the database unless it was lent. Fails when connections were left behind. */
  stop(): Promise<void>;
}

export interface PushItem {
  queue: string;
  partition?: string | null;
  payload?: unknown;
  transactionId?: string | null;
  [key: string]: unknown;
}

export interface Message {
  id: string;
  transactionId: string;
  traceId: string | null;
  data: unknown;
  producerSub: string | null;
  createdAt: string;
  partitionId: string;
  partition: string;
  queue: string;
  leaseId: string;
  consumerGroup: string;
  deliveryAttempt: number;
}

export interface PopBody {
  success: boolean;
  queue: string;
  partition: string;
  partitionId: string;
  leaseId: string;
  consumerGroup: string;
  messages: Message[];
  partitionsClaimed: number;
  error?: string;
  code?: string;
}

export interface AckResult {
  index: number;
  transactionId: string;
  success: boolean;
  error: string | null;
  leaseReleased: boolean;
  dlq: boolean;
  noop: boolean;
}

export interface Answer<Body = unknown> {
  status: number;
  headers: Headers;
  text: string;
  /** Parsed JSON, or undefined for an empty body. */
  body: Body;
}

export interface BrokerSettings {
  /** Lent: a second broker on the database of the first. */
  database?: TestDatabase;
  /** Modules of a team's own. */
  own?: OwnModules;
  [setting: string]: string | number | boolean | TestDatabase | OwnModules | undefined;
}

export async function startBroker(settings: BrokerSettings = {}): Promise<TestBroker> {
  const { database: lent, own = [], ...variables } = settings;
  const database = lent ?? (await createTestDatabase());
  // Of its own: a broker takes over what it finds in its spool, and each has another database.
  const spool = join(tmpdir(), `queen-nest-test-spool-${randomUUID()}`);
  const environment = parseEnvironment({
    PORT: '0',
    FILE_BUFFER_DIR: spool,
    QUEEN_BIND_ADDR: '127.0.0.1',
    DB_POOL_SIZE: '40',
    QUEEN_POOL_RESERVE: '4',
    LOG_LEVEL: 'silent',
    QUEEN_SHUTDOWN_LINGER_MS: '0', // clients of tests keep their connections, and every closing would wait for them
    DATABASE_URL: database.url,
    ...Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, String(value)])),
  });
  const broker = await createBroker(environment, databaseFrom(environment), false, ALONE, own);
  const port = await broker.listen();
  const base = `http://127.0.0.1:${port}`;
  const post = (path: string, body?: unknown) => request(base, path, jsonInit('POST', body));
  return {
    base,
    port,
    broker,
    database,
    push: (items, init) => request(base, '/api/v1/push', { ...jsonInit('POST', { items }), ...init }),
    pop: (path, query = {}, init) => request<PopBody>(base, `/api/v1/pop${path}${queryText(query)}`, init),
    ack: (body) => request<AckResult[]>(base, '/api/v1/ack', jsonInit('POST', body)),
    ackBatch: (body) => request<AckResult[]>(base, '/api/v1/ack/batch', jsonInit('POST', body)),
    get: (path) => request(base, path),
    post,
    del: (path) => request(base, path, { method: 'DELETE' }),
    configure: (queue, options) => post('/api/v1/configure', { queue, options }),
    async stop() {
      await broker.close();
      await rm(spool, { recursive: true, force: true });
      if (!lent) await database.drop();
    },
  };
}

/** Path of a queue-wide pop. */
export function queuePath(queue: string): string {
  return `/queue/${encodeURIComponent(queue)}`;
}

export function partitionPath(queue: string, partition: string): string {
  return `/queue/${encodeURIComponent(queue)}/partition/${encodeURIComponent(partition)}`;
}

/** The body of an ack/batch for messages as they were popped. */
export function acksFor(messages: readonly Message[], status = 'completed', error?: string) {
  return {
    consumerGroup: messages[0]?.consumerGroup,
    acknowledgments: messages.map(({ transactionId, partitionId, leaseId }) => ({
      transactionId,
      partitionId,
      leaseId,
      status,
      ...(error === undefined ? {} : { error }),
    })),
  };
}

async function request<Body = unknown>(
  base: string,
  path: string,
  init?: RequestInit,
): Promise<Answer<Body>> {
  const response = await fetch(base + path, init);
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: (text === '' ? undefined : JSON.parse(text)) as Body,
  };
}

function jsonInit(method: string, body: unknown): RequestInit {
  if (body === undefined) return { method };
  return { method, body: typeof body === 'string' ? body : JSON.stringify(body) };
}

function queryText(query: Record<string, string | number | boolean>): string {
  const text = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) text.set(name, String(value));
  return text.size === 0 ? '' : `?${text.toString()}`;
}
