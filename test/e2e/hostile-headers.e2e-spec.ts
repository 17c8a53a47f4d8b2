import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startBroker, type TestBroker } from '../support/broker.js';
import { fuzz, FUZZ_TIMEOUT_MS } from '../support/fuzz.js';
import { RawConnection, rawRequest } from '../support/raw-http.js';

/* The headers that the broker reads, with anything that HTTP lets through as their values. */

let broker: TestBroker;
beforeAll(async () => {
  broker = await startBroker({ QUEEN_TENANCY_HEADER: true });
});
afterAll(() => broker.stop());

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Visible letters, spaces and bytes above them: what a header may hold. As latin1, which is how it is sent. */
const anything = fc
  .array(
    fc.oneof(fc.integer({ min: 0x20, max: 0x7e }), fc.integer({ min: 0x80, max: 0xff }), fc.constant(0x09)),
    {
      maxLength: 40,
    },
  )
  .map((codes) => String.fromCharCode(...codes).trim());
const of = (...likely: string[]) =>
  fc.option(
    fc.oneof({ weight: 2, arbitrary: fc.constantFrom(...likely) }, { weight: 1, arbitrary: anything }),
  );

const headers = fc.record({
  'X-Queen-Tenant': fc.option(
    fc.oneof(
      fc.uuid(),
      fc.uuid().map((id) => id.toUpperCase()),
      fc.uuid().map((id) => `{${id}}`),
      anything,
    ),
  ),
  'X-Request-Id': of('id-1', 'x'.repeat(128), 'x'.repeat(129), 'a\tb', 'a"b', '{"level":50}', '[31m'),
  traceparent: of(
    '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
    'ff-0-0-0',
    '00-',
    '-'.repeat(60),
  ),
  tracestate: of('a=b,c=d', ','.repeat(100), 'a=' + 'b'.repeat(600), '==='),
  Authorization: of('Bearer', 'Bearer a.b.c', 'bearer  x', 'Basic dXNlcjpwYXNz', 'a.b'),
  'Content-Encoding': of('identity', 'IDENTITY', ' identity ', 'gzip, identity', ''),
  'Content-Type': of('application/json', 'text/html; charset=utf-7', '__proto__', ';', 'multipart/form-data'),
  Accept: of('text/html', '*/*;q=NaN', ','.repeat(50)),
});

/** By the same rules as the broker, in the plainest words. */
function expectedOf(sent: Record<string, string | undefined>): [status: number, code: string | null] {
  const tenant = sent['X-Queen-Tenant'] ?? '';
  if (tenant !== '' && !UUID.test(tenant)) return [400, 'bad_tenant'];
  const encoding = (sent['Content-Encoding'] ?? '').trim().toLowerCase();
  if (encoding === 'gzip' || encoding === 'x-gzip') return [400, 'bad_body'];
  if (encoding !== '' && encoding !== 'identity') return [415, 'unsupported_encoding'];
  return [201, null];
}

it(
  'headers with any values are understood as documented, and what they leave behind is harmless',
  async () => {
    let connection = await RawConnection.open(broker.port);
    const seen = new Set<number>();
    await fc.assert(
      fc.asyncProperty(headers, async (values) => {
        const sent = Object.fromEntries(
          Object.entries(values).flatMap(([name, value]) => (value === null ? [] : [[name, value]])),
        );
        const request = Buffer.from(
          rawRequest('POST', '/api/v1/push', '{"items":[]}', sent).toString(),
          'latin1',
        );
        const response = await connection.send(request).response({ within: 30_000 });
        const text = response.body.toString();
        const code = response.status >= 400 ? (JSON.parse(text) as { code: string }).code : null;
        expect([response.status, code]).toEqual(expectedOf(sent));
        const id = sent['X-Request-Id'] ?? '';
        const isSane = /^[\w.:/+=-]{1,128}$/.test(id);
        const echoed = response.headers.get('x-request-id') ?? '';
        if (isSane) expect(echoed).toBe(id);
        else expect(echoed).toMatch(/^[0-9a-f]{16}-[0-9a-z]+$/);
        expect(connection.unread).toHaveLength(0);
        // A body that was not read to its end takes its connection along.
        if (response.headers.get('connection') === 'close')
          connection = await RawConnection.open(broker.port);
        seen.add(response.status);
      }),
      fuzz(300),
    );
    connection.destroy();
    expect([...seen].sort()).toEqual([201, 400, 415]);
  },
  FUZZ_TIMEOUT_MS,
);
