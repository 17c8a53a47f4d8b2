import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { JWK } from 'jose';

/** An issuer's key set on a port of its own: publishes what the test says, counts who asks. */
export class KeySetServer {
  keys: JWK[] = [];
  /** When set, the answer instead of the keys. */
  fault: { status: number; body: string } | null = null;
  reads = 0;

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {
    server.on('request', (_request, response) => {
      this.reads++;
      const { status, body } = this.fault ?? { status: 200, body: JSON.stringify({ keys: this.keys }) };
      response.writeHead(status, { 'content-type': 'application/json', connection: 'close' }).end(body);
    });
  }

  /** @param port 0: any */
  static async open(port = 0): Promise<KeySetServer> {
    const server = createServer();
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return new KeySetServer(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`);
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  async close(): Promise<void> {
    this.server.close();
    this.server.closeAllConnections();
    await once(this.server, 'close');
  }
}
