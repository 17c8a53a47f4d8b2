import { context, propagation, trace, type Tracer } from '@opentelemetry/api';
import { setGlobalErrorHandler } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  NodeTracerProvider,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-node';
import { SampledLogger } from '../base/log/sampled-logger.js';

export interface TraceOptions {
  /** Base address of an OTLP receiver that speaks HTTP; traces go to `/v1/traces` below it. */
  readonly endpoint: string;
  /** Sent with every export. */
  readonly headers: Readonly<Record<string, string>>;
  readonly serviceName: string;
  readonly serviceVersion: string;
  /** Share of the traces that begin here and are recorded, 0 to 1; others follow whoever began them. */
  readonly ratio: number;
}

/** Neither end of a shutdown may wait longer for a receiver that does not answer. */
const EXPORT_TIMEOUT_MS = 3000;

/**
 * The SDK, registered where the API finds it: modules that a team adds make their spans with `trace.getTracer(…)` and
 * get them into the same traces. One a process.
 */
export class TraceProvider {
  private readonly provider: NodeTracerProvider;
  private readonly logger = new SampledLogger('Tracing');

  constructor(options: TraceOptions) {
    setGlobalErrorHandler((error) =>
      this.logger.warn(
        'export',
        `traces could not be sent: ${typeof error === 'string' ? error : error.message}`,
      ),
    );
    const exporter = new OTLPTraceExporter({
      url: `${options.endpoint.replace(/\/+$/, '')}/v1/traces`,
      headers: { ...options.headers },
      timeoutMillis: EXPORT_TIMEOUT_MS,
    });
    this.provider = new NodeTracerProvider({
      resource: resourceFromAttributes({
        'service.name': options.serviceName,
        'service.version': options.serviceVersion,
      }),
      sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(options.ratio) }),
      spanProcessors: [new BatchSpanProcessor(exporter, { exportTimeoutMillis: EXPORT_TIMEOUT_MS })],
    });
    this.provider.register();
  }

  get tracer(): Tracer {
    return this.provider.getTracer('queen-nest');
  }

  /** Sends what is left, within EXPORT_TIMEOUT_MS, and takes the SDK out again. Never rejects. */
  async stop(): Promise<void> {
    await this.provider
      .shutdown()
      .catch((error: Error) =>
        this.logger.warn('stop', `the last traces could not be sent: ${error.message}`),
      );
    trace.disable();
    context.disable();
    propagation.disable();
  }
}
