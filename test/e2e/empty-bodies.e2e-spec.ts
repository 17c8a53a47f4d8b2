import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startBroker, type TestBroker } from '../support/broker.js';
import { RawConnection, rawRequest, type RawResponse } from '../support/raw-http.js';

/**
 * Some clients name a content type on requests without a body, others send no body where they mean {}. Both must not
 * trip over a body parser.
 */
let broker: TestBroker;
let connection: RawConnection;
beforeAll(async () => {
  broker = await startBroker();
  connection = await RawConnection.open(broker.port);
});
afterAll(async () => {
  connection.destroy();
  await broker.stop();
});

const JSON_TYPE = { 'Content-Type': 'application/json' };

async function send(method: string, path: string, body?: string, headers = {}): Promise<RawResponse> {
  return connection.send(rawRequest(method, path, body, headers)).response();
}

describe.each([
  ['nothing at all', undefined, {}],
  ['a content type and no body', undefined, JSON_TYPE],
  ['a length of 0', '', {}],
  ['a content type and a length of 0', '', JSON_TYPE],
])('a request with %s', (_, body, headers) => {
  it.each(['/api/v1/pop/queue/q', '/api/v1/pop/queue/q/partition/p', '/api/v1/pop?namespace=n'])(
    'is a pop: GET %s',
    async (path) => {
      expect(await send('GET', path, body, headers)).toMatchObject({ status: 204 });
    },
  );

  it('is a delete', async () => {
    const response = await send('DELETE', '/api/v1/resources/queues/none', body, headers);
    expect(response.status).toBe(200);
    expect(JSON.parse(response.body.toString())).toMatchObject({ deleted: false, existed: false });
  });

  it('extends a lease by the default', async () => {
    const response = await send('POST', '/api/v1/lease/unknown/extend', body, headers);
    expect(response.status).toBe(200);
    expect(JSON.parse(response.body.toString())).toMatchObject({ success: false, renewed: 0 });
  });

  it.each(['/health', '/health/live', '/health/ready'])('asks for health: GET %s', async (path) => {
    expect(await send('GET', path, body, headers)).toMatchObject({ status: 200 });
  });

  it.each(['/api/v1/push', '/api/v1/ack', '/api/v1/ack/batch', '/api/v1/configure'])(
    'is refused where the body says what to do: POST %s',
    async (path) => {
      const response = await send('POST', path, body, headers);
      expect(response.status).toBe(400);
      expect(JSON.parse(response.body.toString())).toEqual({
        error: 'bad body: the body is empty',
        code: 'bad_body',
      });
    },
  );
});

it('a body on a pop is read past, and the next request on the connection is understood', async () => {
  connection.send(
    Buffer.concat([
      rawRequest('GET', '/api/v1/pop/queue/q', '{"a":1}', JSON_TYPE),
      rawRequest('GET', '/health'),
    ]),
  );
  expect(await connection.response()).toMatchObject({ status: 204 });
  expect(await connection.response()).toMatchObject({ status: 200 });
});

it('{} is no acknowledgments, and an item without what it needs is told so', async () => {
  expect((await send('POST', '/api/v1/ack/batch', '{}')).body.toString()).toBe('[]');
  expect(JSON.parse((await send('POST', '/api/v1/ack', '{}')).body.toString())).toEqual([
    {
      index: 0,
      transactionId: '',
      success: false,
      error: 'transactionId is required',
      leaseReleased: false,
      dlq: false,
      noop: false,
    },
  ]);
});
