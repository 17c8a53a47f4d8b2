import { connect, createServer, type Server, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { fromTuple, toTuple, type Hint } from '../../src/hints/hint.js';
import type { HintBus, HintBusStats, HintListener } from '../../src/hints/hint-bus.js';

export interface Peer {
  host: string;
  port: number;
}

export interface TcpHintBusOptions {
  /** Where peers connect to; 0 takes a free port. */
  port: number;
  host: string;
  /** Each pair of brokers needs one connection: name a peer on one of the two. */
  peers: readonly Peer[];
}

const RECONNECT_MS = 500;
/** A peer that does not read loses hints, not the broker its memory. */
const UNSENT_BYTES_MAX = 1024 * 1024;

/** Hints as lines of JSON over plain TCP: lossy, never in the way, and back by itself. */
export class TcpHintBus implements HintBus {
  private readonly counters = { sent: 0, received: 0, dropped: 0, reconnects: 0 };
  private readonly sockets = new Set<Socket>();
  private readonly timers = new Set<NodeJS.Timeout>();
  private server: Server | null = null;
  private listener: HintListener | null = null;
  private isStopped = false;

  constructor(private readonly options: TcpHintBusOptions) {}

  /** The port in use, once started. */
  get port(): number {
    return (this.server?.address() as { port: number } | null)?.port ?? 0;
  }

  async start(listener: HintListener): Promise<void> {
    this.listener = listener;
    const server = (this.server = createServer((socket) => this.adopt(socket)));
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ port: this.options.port, host: this.options.host }, resolve);
    });
    for (const peer of this.options.peers) this.dial(peer);
  }

  publish(hints: readonly Hint[]): Promise<void> {
    const line = `${JSON.stringify(hints.map(toTuple))}\n`;
    for (const socket of this.sockets) {
      if (socket.writableLength > UNSENT_BYTES_MAX) this.counters.dropped += hints.length;
      else socket.write(line);
    }
    this.counters.sent += hints.length;
    return Promise.resolve();
  }

  stats(): HintBusStats {
    const hasPeers = this.sockets.size > 0;
    return { ...this.counters, isConnected: this.server !== null, hasPeers };
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    for (const timer of this.timers) clearTimeout(timer);
    for (const socket of this.sockets) socket.destroy();
    const { server } = this;
    if (server) await new Promise<void>((resolve) => server.close(() => resolve()));
  }

  private dial(peer: Peer): void {
    const socket = connect(peer);
    socket.once('connect', () => this.adopt(socket));
    socket.once('error', () => undefined); // "close" follows
    socket.once('close', () => {
      if (this.isStopped) return;
      const timer = setTimeout(() => {
        this.timers.delete(timer);
        this.counters.reconnects += 1;
        this.dial(peer);
      }, RECONNECT_MS);
      timer.unref();
      this.timers.add(timer);
    });
  }

  /** A connection works both ways, whoever made it. What was said before it was not heard: the broker looks for itself. */
  private adopt(socket: Socket): void {
    this.sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('error', () => undefined);
    socket.once('close', () => this.sockets.delete(socket));
    createInterface({ input: socket }).on('line', (line) => this.hear(line));
    this.listener?.reconnected();
  }

  private hear(line: string): void {
    for (const tuple of tuplesIn(line)) {
      const hint = fromTuple(tuple);
      if (!hint || hint.kind === 'hello') continue;
      this.counters.received += 1;
      this.listener?.heard(hint);
    }
  }
}

/** None of what cannot be read: a newer broker may say what this one does not know. */
function tuplesIn(line: string): unknown[] {
  try {
    const parsed: unknown = JSON.parse(line);
    return Array.isArray(parsed) ? parsed : [];
  } catch {
    return [];
  }
}
