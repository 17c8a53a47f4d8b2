import {
  context,
  createContextKey,
  SpanStatusCode,
  trace,
  type Span,
  type SpanOptions,
  type Tracer,
} from '@opentelemetry/api';
import { AbortedError } from '../base/errors/aborted-error.js';
import { BrokerError } from '../base/errors/broker-error.js';
import { ATTRIBUTE } from './attributes.js';

/** Open from the start of a request's span to its end. */
interface Scope {
  isOpen: boolean;
}

const SCOPE = createContextKey('queen-nest request');

/**
 * Runs `run` inside a span that ends with it. Work that a request set off and others share (a flush, a walk) may outlive
 * it in the same asynchronous chain; the scope closes with the span, so that none of that is put down to it.
 */
export async function inSpan<T>(
  tracer: Tracer,
  name: string,
  options: SpanOptions,
  run: (span: Span) => Promise<T>,
): Promise<T> {
  const parent = context.active();
  const span = tracer.startSpan(name, options, parent);
  const scope: Scope = { isOpen: true };
  try {
    return await context.with(trace.setSpan(parent, span).setValue(SCOPE, scope), () => run(span));
  } catch (error) {
    fail(span, error);
    throw error;
  } finally {
    scope.isOpen = false;
    span.end();
  }
}

/** The span of the request that is served here and is recorded; null outside of one. */
export function requestSpan(): Span | null {
  const active = context.active();
  if (!(active.getValue(SCOPE) as Scope | undefined)?.isOpen) return null;
  const span = trace.getSpan(active);
  return span?.isRecording() ? span : null;
}

/** The code and no message: those of PostgreSQL may quote what was pushed. */
function fail(span: Span, error: unknown): void {
  if (error instanceof AbortedError) {
    span.setAttribute(ATTRIBUTE.errorType, 'client_gone');
    return;
  }
  const code = error instanceof BrokerError ? error.code : 'internal';
  span.setAttribute(ATTRIBUTE.errorType, code);
  if (!(error instanceof BrokerError) || error.status >= 500)
    span.setStatus({ code: SpanStatusCode.ERROR, message: code });
}
