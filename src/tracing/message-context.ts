import { context, propagation, ROOT_CONTEXT, trace, type SpanContext } from '@opentelemetry/api';

/** As many as one header object may take, names and braces included (http-api 3.1, headers). */
export interface CarryLimits {
  readonly headerBytesMax: number;
}

const TRACEPARENT = 'traceparent';

/** The active trace as the W3C names it: `{"traceparent":"00-…","tracestate":"…"}` without its braces; '' for none. */
export function activeTraceMembers(): string {
  const carrier: Record<string, string> = {};
  propagation.inject(context.active(), carrier);
  const members = [TRACEPARENT, 'tracestate'].filter((name) => carrier[name] !== undefined);
  return members.map((name) => `${JSON.stringify(name)}:${JSON.stringify(carrier[name])}`).join(',');
}

/**
 * A message's headers with the trace in front of them. What the producer wrote stays byte for byte, and a producer that
 * named its own trace keeps it; so do headers that would grow beyond their limit.
 *
 * @param headers raw text of an object of strings; null: the message has none
 * @param members from activeTraceMembers()
 */
export function withTrace(
  headers: Buffer | null,
  members: string,
  { headerBytesMax }: CarryLimits,
): Buffer | null {
  if (members === '') return headers;
  if (headers === null) return Buffer.from(`{${members}}`);
  const text = headers.toString();
  if (Object.keys(parsed(text)).some((name) => name.toLowerCase() === TRACEPARENT)) return headers;
  const rest = text.slice(text.indexOf('{') + 1);
  const carrying = Buffer.from(`{${members}${rest.trimStart().startsWith('}') ? '' : ','}${rest}`);
  return carrying.length > headerBytesMax ? headers : carrying;
}

/** The trace that a message's headers name; null for none, and for one that is not well-formed. */
export function traceOf(headers: Buffer): SpanContext | null {
  const carrier = parsed(headers.toString());
  return trace.getSpanContext(propagation.extract(ROOT_CONTEXT, carrier)) ?? null;
}

function parsed(text: string): Record<string, string> {
  try {
    return JSON.parse(text) as Record<string, string>;
  } catch {
    return {}; // older than the check of a push
  }
}
