import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { waitFor } from './wait-for.js';

type Value = { stringValue?: string; intValue?: number | string; doubleValue?: number; boolValue?: boolean };
type Attributes = { key: string; value: Value }[];

export interface ReceivedSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  attributes: Record<string, unknown>;
  links: { traceId: string; spanId: string }[];
  status: { code?: number; message?: string };
}

interface Export {
  resourceSpans: {
    resource: { attributes: Attributes };
    scopeSpans: {
      spans: (Omit<ReceivedSpan, 'attributes' | 'links'> & {
        attributes: Attributes;
        links?: { traceId: string; spanId: string }[];
      })[];
    }[];
  }[];
}

/** A receiver of traces as a broker's operator has one: OTLP over HTTP, on a port of its own. */
export class OtlpReceiver {
  readonly spans: ReceivedSpan[] = [];
  readonly requests: { path: string; headers: IncomingHttpHeaders }[] = [];
  service: Record<string, unknown> = {};

  private constructor(private readonly server: ReturnType<typeof createServer>) {}

  static async start(): Promise<OtlpReceiver> {
    const server = createServer((request, response) => {
      const pieces: Buffer[] = [];
      request.on('data', (piece: Buffer) => pieces.push(piece));
      request.on('end', () => {
        receiver.take(request.url ?? '', request.headers, Buffer.concat(pieces).toString());
        response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
      });
    });
    const receiver = new OtlpReceiver(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Waits for a span of this name that fits. */
  span(name: string, fits: (span: ReceivedSpan) => boolean = () => true): Promise<ReceivedSpan> {
    const found = () => this.spans.find((span) => span.name === name && fits(span));
    return waitFor(found, { within: 30_000, what: `a span "${name}"` });
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private take(path: string, headers: IncomingHttpHeaders, body: string): void {
    this.requests.push({ path, headers });
    for (const { resource, scopeSpans } of (JSON.parse(body) as Export).resourceSpans) {
      this.service = plain(resource.attributes);
      for (const { spans } of scopeSpans) {
        for (const span of spans)
          this.spans.push({ ...span, attributes: plain(span.attributes), links: span.links ?? [] });
      }
    }
  }
}

function plain(attributes: Attributes): Record<string, unknown> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.intValue === undefined
        ? (value.stringValue ?? value.doubleValue ?? value.boolValue)
        : Number(value.intValue),
    ]),
  );
}
