import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Which connections have a request under way. Node's own closing waits for ever for a connection on which nothing was
 * sent yet (load balancers and browsers open some ahead of need), and would keep a drain from ending.
 */
export class OpenConnections {
  private readonly requests = new Map<Socket, number>();
  private draining = false;

  watch(server: Server): void {
    server.on('connection', (socket: Socket) => {
      if (this.draining) return void socket.destroy();
      this.requests.set(socket, 0);
      socket.once('close', () => this.requests.delete(socket));
    });
    server.on('request', ({ socket }, response) => {
      this.count(socket, 1);
      response.once('close', () => this.count(socket, -1));
    });
  }

  /** Ends every connection without a request; the others end with the answer, which says `connection: close`. */
  drain(): void {
    this.draining = true;
    for (const [socket, requests] of this.requests) if (requests === 0) socket.destroy();
  }

  private count(socket: Socket, by: 1 | -1): void {
    const requests = this.requests.get(socket);
    if (requests !== undefined) this.requests.set(socket, requests + by);
  }
}
