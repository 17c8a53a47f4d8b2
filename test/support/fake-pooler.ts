import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

/** Added to the backend's process number: clients of a pooler are told one that no backend has. */
const PID_SHIFT = 1_000_000;
const CANCEL_REQUEST = 80_877_102;

/**
 * What a transaction pooler does to its clients, without sharing any connection: it refuses start-up parameters that it
 * cannot keep track of, tells a process number of its own making, hands no notification on, and counts what it could not
 * keep (statements prepared by name). For tests that must run where no real pooler is installed.
 */
export class FakePooler {
  private readonly sockets = new Set<Socket>();
  /** Names that clients prepared statements under. */
  readonly namedStatements: string[] = [];

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  /** @param databaseUrl where it leads to */
  static async open(databaseUrl: string): Promise<FakePooler> {
    const target = new URL(databaseUrl);
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const url = new URL(databaseUrl);
    url.host = `127.0.0.1:${port}`;
    const pooler = new FakePooler(server, url.href);
    server.on('connection', (client) => pooler.serve(client, Number(target.port), target.hostname));
    return pooler;
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }

  private serve(client: Socket, port: number, host: string): void {
    const backend = connect({ port, host });
    for (const [socket, other] of [
      [client, backend],
      [backend, client],
    ]) {
      this.sockets.add(socket);
      socket.on('error', () => undefined); // its end tells the other side
      socket.on('close', () => {
        this.sockets.delete(socket);
        other.destroy();
      });
    }
    const fromClient = new Frames(false, (frame) => this.pass(frame, client, backend));
    const fromBackend = new Frames(true, (frame) => answer(frame, client));
    client.on('data', (bytes: Buffer) => fromClient.take(bytes));
    backend.on('data', (bytes: Buffer) => fromBackend.take(bytes));
  }

  private pass(frame: Buffer, client: Socket, backend: Socket): void {
    const isStartup = frame[0] === 0; // a length below 2^24 begins with it, and no type is 0
    if (isStartup && frame.readInt32BE(4) === CANCEL_REQUEST) {
      frame.writeInt32BE(frame.readInt32BE(8) - PID_SHIFT, 8);
    } else if (isStartup && frame.includes('\0options\0')) {
      client.end(refusal('unsupported startup parameter: options'));
      backend.destroy();
      return;
    } else if (frame[0] === 0x50 && frame[5] !== 0) {
      this.namedStatements.push(frame.toString('utf8', 5, frame.indexOf(0, 5)));
    }
    backend.write(frame);
  }
}

function answer(frame: Buffer, client: Socket): void {
  const type = String.fromCharCode(frame[0]);
  if (type === 'A') return; // a notification: the session that listened is not this client's any more
  if (type === 'K') frame.writeInt32BE(frame.readInt32BE(5) + PID_SHIFT, 5);
  client.write(frame);
}

function refusal(message: string): Buffer {
  const fields = Buffer.from(`SFATAL\0C08P01\0M${message}\0\0`);
  const head = Buffer.alloc(5);
  head.write('E');
  head.writeInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}

/** Cuts a stream of the protocol into messages; a client's first one has no type. */
class Frames {
  private rest = Buffer.alloc(0);

  constructor(
    private isTyped: boolean,
    private readonly onFrame: (frame: Buffer) => void,
  ) {}

  take(bytes: Buffer): void {
    this.rest = Buffer.concat([this.rest, bytes]);
    for (;;) {
      const at = this.isTyped ? 1 : 0;
      if (this.rest.length < at + 4) return;
      const length = at + this.rest.readInt32BE(at);
      if (this.rest.length < length) return;
      const frame = Buffer.from(this.rest.subarray(0, length));
      this.rest = this.rest.subarray(length);
      this.isTyped = true;
      this.onFrame(frame);
    }
  }
}
