import { request, type Agent } from 'node:http';

export interface Exchange {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
}

export interface Sent {
  method: string;
  /** As it goes out: no client of ours tidies up dots and escapes in it. */
  path: string;
  headers?: Record<string, string>;
  body?: Buffer | string | null;
}

/** One request to a broker on this machine; rejects when there is no answer in time. */
export function exchange(agent: Agent, port: number, sent: Sent, withinMs: number): Promise<Exchange> {
  const { method, path, headers = {}, body = null } = sent;
  return new Promise((resolve, reject) => {
    const length = body === null ? {} : { 'content-length': Buffer.byteLength(body) };
    const outgoing = request(
      { host: '127.0.0.1', port, agent, method, path, headers: { ...length, ...headers } },
      (incoming) => {
        const pieces: Buffer[] = [];
        incoming.on('data', (piece: Buffer) => pieces.push(piece));
        incoming.on('error', reject);
        incoming.on('end', () =>
          resolve({
            status: incoming.statusCode!,
            headers: incoming.headers,
            body: Buffer.concat(pieces),
          }),
        );
      },
    );
    outgoing.setTimeout(withinMs, () =>
      outgoing.destroy(new Error(`${method} ${path}: no answer in ${withinMs} ms`)),
    );
    outgoing.on('error', reject);
    outgoing.end(body ?? undefined);
  });
}
