import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { waitFor } from './wait-for.js';

export interface RawResponse {
  status: number;
  /** Status line and headers as they came, without the empty line. */
  head: string;
  headers: Map<string, string>;
  body: Buffer;
}

/** A connection on which a test says exactly which bytes go out, and sees exactly which come back. */
export class RawConnection {
  private received = Buffer.alloc(0);
  private ended = false;

  private constructor(private readonly socket: Socket) {
    socket.on('data', (bytes: Buffer) => (this.received = Buffer.concat([this.received, bytes])));
    socket.on('error', () => undefined); // a reset is an end like any other: `ended` tells
    socket.on('close', () => (this.ended = true));
  }

  static async open(port: number): Promise<RawConnection> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    const connection = new RawConnection(socket);
    await once(socket, 'connect');
    return connection;
  }

  send(bytes: string | Buffer): this {
    this.socket.write(bytes);
    return this;
  }

  /** The next response, in the order of the requests; it leaves the buffer. One to a HEAD has no body. */
  async response({ within = 10_000, head = false } = {}): Promise<RawResponse> {
    return waitFor(() => this.take(head), { within, what: 'a response' });
  }

  /** Bytes that came and belong to no response that was taken. */
  get unread(): Buffer {
    return this.received;
  }

  /** The peer has closed. */
  async closed(within = 10_000): Promise<void> {
    await waitFor(() => this.ended, { within, what: 'the broker to close the connection' });
  }

  get isOpen(): boolean {
    return !this.ended;
  }

  /** Gone without a word, as when a client process dies. */
  destroy(): void {
    this.socket.destroy();
  }

  private take(isHead: boolean): RawResponse | null {
    const headEnd = this.received.indexOf('\r\n\r\n');
    if (headEnd < 0) return null;
    const head = this.received.toString('latin1', 0, headEnd);
    const [statusLine, ...lines] = head.split('\r\n');
    const headers = new Map(
      lines.map((line) => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
      }),
    );
    if (headers.has('transfer-encoding'))
      throw new Error(`chunked response, which nothing here sends: ${head}`);
    const status = Number(statusLine.split(' ')[1]);
    const bodyEnd = headEnd + 4 + (status === 204 || isHead ? 0 : Number(headers.get('content-length') ?? 0));
    if (this.received.length < bodyEnd) return null;
    const body = this.received.subarray(headEnd + 4, bodyEnd);
    this.received = this.received.subarray(bodyEnd);
    return { status, head, headers, body };
  }
}

/** A request as text; with a body, its length is announced. */
export function rawRequest(
  method: string,
  path: string,
  body?: string | Buffer,
  headers: Record<string, string> = {},
): Buffer {
  const all: Record<string, string> = { Host: 'broker', ...headers };
  if (body !== undefined) all['Content-Length'] = String(Buffer.byteLength(body));
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([
    Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`),
    Buffer.from(body ?? ''),
  ]);
}
