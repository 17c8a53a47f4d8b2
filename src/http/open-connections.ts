import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';

/**
 * Which connections have a request under way. Node's own closing waits for ever for a connection on which nothing was
 * sent yet (load balancers and browsers open some ahead of need), and would keep a drain from ending.
 */
export class OpenConnections {
  private readonly requests = new Map<Socket, number>();
  /** By the peer's address and port: once it speaks TLS, a connection is another socket than the one that was accepted. */
  private readonly handshakes = new Map<string, Socket>();
  private draining = false;

  watch(server: Server): void {
    if (server instanceof TlsServer) {
      server.on('connection', (socket: Socket) => this.handshake(socket));
      server.on('secureConnection', (socket: Socket) => {
        this.handshakes.delete(peerOf(socket));
        this.open(socket);
      });
    } else {
      server.on('connection', (socket: Socket) => this.open(socket));
    }
    server.on('request', ({ socket }, response) => {
      this.count(socket, 1);
      response.once('close', () => this.count(socket, -1));
    });
  }

  /** Ends every connection without a request, and each of the others when it has its answer. */
  drain(): void {
    this.draining = true;
    for (const socket of this.handshakes.values()) socket.destroy();
    for (const [socket, requests] of this.requests) if (requests === 0) socket.destroy();
  }

  private open(socket: Socket): void {
    if (this.draining) return void socket.destroy();
    this.requests.set(socket, 0);
    socket.once('close', () => this.requests.delete(socket));
  }

  private handshake(socket: Socket): void {
    if (this.draining) return void socket.destroy();
    const peer = peerOf(socket);
    this.handshakes.set(peer, socket);
    socket.once('close', () => {
      if (this.handshakes.get(peer) === socket) this.handshakes.delete(peer);
    });
  }

  private count(socket: Socket, by: 1 | -1): void {
    const requests = this.requests.get(socket);
    if (requests === undefined) return;
    this.requests.set(socket, requests + by);
    // Its head was written before the drain began, so it did not say `connection: close`.
    if (this.draining && requests + by === 0) socket.end();
  }
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
