import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { AckService } from '../../src/ack/ack.service.js';
import { HandOver } from '../../src/pop/hand-over.js';
import { PopService } from '../../src/pop/pop.service.js';
import { PushService } from '../../src/push/push.service.js';
import { RawSqlService } from '../../src/raw-sql/raw-sql.service.js';
import {
  acksFor,
  partitionPath,
  queuePath,
  startBroker,
  type Message,
  type TestBroker,
} from '../support/broker.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { OtlpReceiver } from '../support/otlp-receiver.js';

type WithHeaders = Message & { headers?: Record<string, string> };

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const CLIENT_SPAN = '00f067aa0ba902b7';
const recorded = (trace: string) => `00-${trace}-${CLIENT_SPAN}-01`;
const notRecorded = (trace: string) => `00-${trace}-${CLIENT_SPAN}-00`;
/** Another trace for each test, so that none finds the spans of another. */
const traceNumber = (n: number) => n.toString(16).padStart(32, 'a');

let db: TestDatabase;
beforeAll(async () => {
  // The SDK's own settings for its batches, as an operator sets them.
  process.env.OTEL_BSP_SCHEDULE_DELAY = '50';
  db = await createTestDatabase();
});
afterAll(() => db.drop());

describe('with a receiver of traces', () => {
  let receiver: OtlpReceiver;
  let broker: TestBroker;
  beforeAll(async () => {
    receiver = await OtlpReceiver.start();
    broker = await startBroker({
      database: db,
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-api-key=a%20key,x-team=brokers',
      OTEL_SERVICE_NAME: 'queen-under-test',
    });
  });
  afterAll(async () => {
    await broker.stop();
    await receiver.stop();
  });

  const pushTraced = (items: unknown[], traceparent: string) =>
    fetch(`${broker.base}/api/v1/push`, {
      method: 'POST',
      headers: { traceparent, 'content-type': 'application/json' },
      body: JSON.stringify({ items }),
    });
  const ofTrace = (trace: string) => (span: { traceId: string }) => span.traceId === trace;

  it('a message carries the trace of its push to whoever pops it, and the spans tell its way', async () => {
    expect((await pushTraced([{ queue: 'traced', payload: 1 }], recorded(TRACE))).status).toBe(201);
    const push = await receiver.span('push', ofTrace(TRACE));
    expect(push).toMatchObject({
      parentSpanId: CLIENT_SPAN,
      attributes: {
        'messaging.system': 'queen',
        'messaging.destination.name': 'traced',
        'messaging.batch.message_count': 1,
      },
    });

    const [message] = (await broker.pop(queuePath('traced'), { consumerGroup: 'g' })).body
      .messages as WithHeaders[];
    expect(message.headers).toEqual({ traceparent: `00-${TRACE}-${push.spanId}-01` });
    const pop = await receiver.span('pop', ({ links }) => links.some(({ spanId }) => spanId === push.spanId));
    expect(pop).toMatchObject({
      links: [{ traceId: TRACE, spanId: push.spanId }],
      attributes: { 'messaging.consumer.group.name': 'g', 'messaging.batch.message_count': 1 },
    });
    expect(pop.parentSpanId ?? '').toBe('');
    const claim = await receiver.span('log_pop_wildcard_bin_v1', ofTrace(pop.traceId));
    expect(claim).toMatchObject({
      parentSpanId: pop.spanId,
      attributes: { 'db.system.name': 'postgresql', 'db.stored_procedure.name': 'log_pop_wildcard_bin_v1' },
    });

    await broker.ackBatch(acksFor([message]));
    const ack = await receiver.span(
      'ack',
      ({ attributes }) => attributes['messaging.consumer.group.name'] === 'g',
    );
    expect(ack.attributes).toMatchObject({ 'messaging.batch.message_count': 1 });
  });

  it('the receiver is asked with the headers that were configured, for the service of that name', async () => {
    await pushTraced([{ queue: 'asked', payload: 1 }], recorded(traceNumber(1)));
    await receiver.span('push', ofTrace(traceNumber(1)));
    expect(receiver.requests[0]).toMatchObject({
      path: '/v1/traces',
      headers: { 'x-api-key': 'a key', 'x-team': 'brokers' },
    });
    expect(receiver.service).toMatchObject({ 'service.name': 'queen-under-test' });
  });

  it('headers of a producer stay as it wrote them, and its own trace is not replaced', async () => {
    const own = recorded('c'.repeat(32));
    const items = [
      { queue: 'own', partition: 'p', payload: 1, headers: { 'x-tenant': 'a' } },
      { queue: 'own', partition: 'p', payload: 2, headers: { Traceparent: own } },
      { queue: 'own', partition: 'p', payload: 3, headers: {} },
      { queue: 'own', partition: 'p', payload: 4, headers: { a: 'x'.repeat(16 * 1024 - 8) } },
    ];
    await pushTraced(items, recorded(traceNumber(2)));
    const push = await receiver.span('push', ofTrace(traceNumber(2)));
    const traceparent = `00-${traceNumber(2)}-${push.spanId}-01`;
    const messages = (await broker.pop(partitionPath('own', 'p'), { autoAck: true })).body
      .messages as WithHeaders[];
    expect(messages.map(({ headers }) => headers)).toEqual([
      { traceparent, 'x-tenant': 'a' },
      { Traceparent: own },
      { traceparent },
      items[3].headers,
    ]);
  });

  it('a transaction carries the trace as well', async () => {
    const item = { queue: 'transacted', partition: 'p', payload: 1 };
    await fetch(`${broker.base}/api/v1/transaction`, {
      method: 'POST',
      headers: { traceparent: recorded(traceNumber(3)) },
      body: JSON.stringify({ operations: [{ type: 'push', items: [item] }] }),
    });
    const span = await receiver.span('transaction', ofTrace(traceNumber(3)));
    const [message] = (await broker.pop(partitionPath('transacted', 'p'), { autoAck: true })).body
      .messages as WithHeaders[];
    expect(message.headers).toEqual({ traceparent: `00-${traceNumber(3)}-${span.spanId}-01` });
  });

  it('a trace that its client does not record is neither recorded here nor put into messages', async () => {
    await pushTraced([{ queue: 'quiet', payload: 1 }], notRecorded(traceNumber(4)));
    const [message] = (await broker.pop(queuePath('quiet'), { autoAck: true })).body
      .messages as WithHeaders[];
    expect(message).not.toHaveProperty('headers');
    await pushTraced([{ queue: 'quiet', payload: 2 }], recorded(traceNumber(5)));
    await receiver.span('push', ofTrace(traceNumber(5)));
    expect(receiver.spans.filter(ofTrace(traceNumber(4)))).toEqual([]);
  });

  it('an empty pop and a failed one have a span too, which tells the code and no text of the database', async () => {
    const pop = (path: string, trace: string) =>
      fetch(`${broker.base}/api/v1/pop${path}`, { headers: { traceparent: recorded(trace) } });
    expect((await pop(queuePath('empty'), traceNumber(6))).status).toBe(204);
    expect(await receiver.span('pop', ofTrace(traceNumber(6)))).toMatchObject({
      parentSpanId: CLIENT_SPAN,
      attributes: { 'messaging.destination.name': 'empty', 'messaging.batch.message_count': 0 },
    });

    await db.query('alter function queen.log_pop_specific_v1 rename to log_pop_gone');
    try {
      expect((await pop(partitionPath('empty', 'p'), traceNumber(7))).status).toBe(500);
    } finally {
      await db.query('alter function queen.log_pop_gone rename to log_pop_specific_v1');
    }
    const failed = await receiver.span('pop', ofTrace(traceNumber(7)));
    expect(failed).toMatchObject({
      status: { code: 2, message: 'sql_failed' },
      attributes: { 'error.type': 'sql_failed', 'messaging.destination.partition.id': 'p' },
    });
    expect(JSON.stringify(receiver.spans.filter(ofTrace(traceNumber(7))))).not.toContain('does not exist');
  });
});

describe('with a receiver that is not there', () => {
  it('everything goes on, and the broker leaves in its time', async () => {
    const broker = await startBroker({ database: db, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' });
    for (let i = 0; i < 20; i++)
      expect((await broker.push([{ queue: 'lonely', payload: i }])).status).toBe(201);
    await broker.stop();
  });
});

describe('without a receiver', () => {
  let broker: TestBroker | undefined;
  afterEach(() => broker?.stop());

  it('no method of the serve path is wrapped, and a message is stored as it was pushed', async () => {
    broker = await startBroker({ database: db });
    const { app } = broker.broker;
    const wrapped = [
      [PushService, 'push'],
      [PopService, 'serve'],
      [HandOver, 'of'],
      [AckService, 'acknowledge'],
      [RawSqlService, 'withConnection'],
    ] as const;
    for (const [service, method] of wrapped) {
      expect({ method, isOwn: Object.hasOwn(app.get<object>(service), method) }).toEqual({
        method,
        isOwn: false,
      });
    }
    await fetch(`${broker.base}/api/v1/push`, {
      method: 'POST',
      headers: { traceparent: recorded(traceNumber(8)) },
      body: '{"items":[{"queue":"plain","payload":1}]}',
    });
    const [message] = (await broker.pop(queuePath('plain'), { autoAck: true })).body.messages;
    expect(message).not.toHaveProperty('headers');
  });
});
