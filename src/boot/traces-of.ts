import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Environment } from '../base/config/environment.js';
import { brokerVersion } from '../base/version.js';

export interface Traces {
  /** Sends what is left. Never rejects. */
  stop(): Promise<void>;
}

/** Traces where a receiver is configured; otherwise null, and nothing of OpenTelemetry is loaded. */
export async function tracesOf(
  environment: Environment,
  app: NestFastifyApplication,
): Promise<Traces | null> {
  if (environment.OTEL_EXPORTER_OTLP_ENDPOINT === '') return null;
  const { startTracing } = await import('../tracing/start-tracing.js');
  return startTracing(app, {
    endpoint: environment.OTEL_EXPORTER_OTLP_ENDPOINT,
    headers: headersOf(environment.OTEL_EXPORTER_OTLP_HEADERS),
    serviceName: environment.OTEL_SERVICE_NAME,
    serviceVersion: brokerVersion,
    ratio: environment.QUEEN_TRACE_RATIO,
  });
}

/** `name=value,name=value`, values percent-encoded; the setting's pattern has checked the shape. */
function headersOf(text: string): Record<string, string> {
  if (text === '') return {};
  return Object.fromEntries(
    text.split(',').map((pair) => {
      const at = pair.indexOf('=');
      return [pair.slice(0, at).trim(), decoded(pair.slice(at + 1).trim())];
    }),
  );
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
