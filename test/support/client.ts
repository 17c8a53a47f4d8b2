import { acksFor, type AckResult, type Answer, type Message, type PopBody, type PushItem } from './broker.js';

/** A client of a broker that runs in another process. */
export interface Client {
  readonly port: number;
  get<Body = unknown>(path: string): Promise<Answer<Body>>;
  post<Body = unknown>(path: string, body?: unknown): Promise<Answer<Body>>;
  del(path: string): Promise<Answer>;
  push(items: PushItem[]): Promise<Answer<{ status: string }[]>>;
  pop(queue: string, query?: Record<string, string | number | boolean>): Promise<Answer<PopBody>>;
  ack(messages: readonly Message[]): Promise<Answer<AckResult[]>>;
  /** The value of a series without labels, as Prometheus would read it. */
  metric(name: string): Promise<number>;
}

export function clientOf(port: number): Client {
  const ask = async <Body>(path: string, init?: RequestInit): Promise<Answer<Body>> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, init);
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json') ?? false;
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: (isJson ? JSON.parse(text) : undefined) as Body,
    };
  };
  const post = <Body>(path: string, body?: unknown) =>
    ask<Body>(path, { method: 'POST', ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
  return {
    port,
    get: ask,
    post,
    del: (path) => ask(path, { method: 'DELETE' }),
    push: (items) => post('/api/v1/push', { items }),
    pop: (queue, query = {}) => {
      const text = new URLSearchParams(
        Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
      );
      return ask(`/api/v1/pop/queue/${encodeURIComponent(queue)}?${text.toString()}`);
    },
    ack: (messages) => post('/api/v1/ack/batch', acksFor(messages)),
    async metric(name) {
      const { text } = await ask('/metrics/prometheus');
      const line = text.split('\n').find((one) => one.startsWith(`${name} `));
      if (line === undefined) throw new Error(`there is no series ${name}`);
      return Number(line.slice(name.length + 1));
    },
  };
}
