import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { context, propagation, ROOT_CONTEXT, trace, TraceFlags } from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { activeTraceMembers, traceOf, withTrace } from './message-context.js';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const MEMBERS = `"traceparent":"00-${TRACE}-${SPAN}-01"`;
const LIMITS = { headerBytesMax: 200 };

beforeAll(() => {
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
});
afterAll(() => propagation.disable());

const carried = (headers: string | null) =>
  withTrace(headers === null ? null : Buffer.from(headers), MEMBERS, LIMITS)?.toString() ?? null;

describe('the active trace', () => {
  it('is nothing outside of a span', () => {
    expect(activeTraceMembers()).toBe('');
  });

  it('is what the active context says', () => {
    const spanContext = { traceId: TRACE, spanId: SPAN, traceFlags: TraceFlags.SAMPLED };
    const active = trace.setSpan(ROOT_CONTEXT, trace.wrapSpanContext(spanContext));
    const original = context.active;
    context.active = () => active;
    try {
      expect(activeTraceMembers()).toBe(MEMBERS);
    } finally {
      context.active = original;
    }
  });
});

describe('headers with a trace', () => {
  it('are made where the message has none', () => {
    expect(carried(null)).toBe(`{${MEMBERS}}`);
  });

  it.each([
    ['{}', `{${MEMBERS}}`],
    ['{ }', `{${MEMBERS} }`],
    ['{"a":"1"}', `{${MEMBERS},"a":"1"}`],
    ['{ "b":"1",  "a":"\\u0000\\/" }', `{${MEMBERS}, "b":"1",  "a":"\\u0000\\/" }`],
  ])('%s stay byte for byte behind it', (headers, expected) => {
    expect(carried(headers)).toBe(expected);
    expect(JSON.parse(expected)).toMatchObject(JSON.parse(headers) as object);
  });

  it.each(['{"traceparent":"00-x"}', '{"Traceparent":"00-x"}', '{"\\u0074raceparent":"00-x"}'])(
    '%s name a trace already and keep it',
    (headers) => expect(carried(headers)).toBe(headers),
  );

  it('stay as they are where they would grow beyond their limit', () => {
    const most = `{"a":"${'x'.repeat(LIMITS.headerBytesMax - MEMBERS.length - '{,"a":""}'.length)}"}`;
    expect(carried(most)).toBe(`{${MEMBERS},${most.slice(1)}`);
    const more = most.replace('x', 'xx');
    expect(carried(more)).toBe(more);
  });

  it('are untouched where there is no trace', () => {
    expect(withTrace(null, '', LIMITS)).toBeNull();
  });
});

describe('the trace that headers name', () => {
  it('is read from them', () => {
    expect(traceOf(Buffer.from(`{${MEMBERS}}`))).toMatchObject({
      traceId: TRACE,
      spanId: SPAN,
      traceFlags: 1,
    });
  });

  it.each(['{}', '{"traceparent":"nonsense"}', '{"a":"1"}', 'no json'])('is none for %s', (headers) => {
    expect(traceOf(Buffer.from(headers))).toBeNull();
  });
});
