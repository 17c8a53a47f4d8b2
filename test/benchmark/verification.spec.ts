import { createServer, type AddressInfo, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';

/** A benchmark that overlooks a lost message proves nothing: what checks the runs is checked here. */

interface Message {
  transactionId: string;
  micros: number;
  partitionId: string;
  leaseId: string;
}

interface Client {
  push(queue: string, messages: { transactionId: string }[]): Promise<boolean>;
  pop(request: { batch: number; timeoutMs: number }): Promise<Message[] | null>;
  ack(group: string, messages: Message[]): Promise<boolean>;
  close(): void;
}

interface Result {
  [count: string]: number;
}

async function load<T>(name: string): Promise<T> {
  return (await import(name)) as T;
}

const { generateWith } = await load<{ generateWith(open: () => Client, plan: object): Promise<Result> }>(
  './lib/generator.mjs',
);
const { Wire } = await load<{
  Wire: new (base: string) => {
    send(method: string, path: string, body?: string): Promise<{ status: number; text: string }>;
    close(): void;
  };
}>('./lib/wire.mjs');

/** A broker in memory that gives out messages in order, but for what `spoil` does to them before they are stored. */
function memoryBroker(spoil: (messages: Message[]) => Message[]) {
  const stored: Message[] = [];
  let arrived: (() => void)[] = [];
  return (): Client => ({
    push(_queue, messages) {
      const micros = Date.now() * 1000;
      const all = messages.map(({ transactionId }) => ({
        transactionId,
        micros,
        partitionId: 'p',
        leaseId: 'l',
      }));
      stored.push(...spoil(all));
      for (const wake of arrived) wake();
      arrived = [];
      return Promise.resolve(true);
    },
    async pop({ batch, timeoutMs }) {
      if (stored.length === 0) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, Math.min(timeoutMs, 20));
          arrived.push(() => {
            clearTimeout(timer);
            resolve();
          });
        });
      }
      return stored.splice(0, batch);
    },
    ack: () => Promise.resolve(true),
    close: () => undefined,
  });
}

const plan = {
  queue: 'q',
  seconds: 60,
  messages: 200,
  batch: 10,
  partitions: 3,
  producers: 1,
  consumers: 1,
  drainMs: 200,
  silenceMs: 50,
};

const run = (spoil: (messages: Message[]) => Message[], more = {}) =>
  generateWith(memoryBroker(spoil), { ...plan, ...more });

/** Does something to one of the batches. */
function once(change: (messages: Message[]) => Message[]) {
  let count = 0;
  return (messages: Message[]) => (count++ === 5 ? change(messages) : messages);
}

describe('a run of the generator', () => {
  it('of a broker that does what it should is without fault', async () => {
    expect(await run((messages) => messages)).toMatchObject({
      pushed: 200,
      delivered: 200,
      acked: 200,
      lost: 0,
      unread: 0,
      duplicated: 0,
      outOfOrder: 0,
      popErrors: 0,
      ackErrors: 0,
    });
  });

  it('finds a message that was lost at the end of a partition', async () => {
    expect(
      await run(
        once((messages) => messages.slice(0, -1)),
        { messages: 60 },
      ),
    ).toMatchObject({
      lost: 1,
      duplicated: 0,
      outOfOrder: 0,
    });
  });

  it('finds a message that was lost in the middle', async () => {
    expect(await run(once((messages) => messages.filter((_, i) => i !== 4)))).toMatchObject({
      lost: 1,
      outOfOrder: 1,
    });
  });

  it('finds a message that came twice', async () => {
    expect(await run(once((messages) => [...messages, messages[9]]))).toMatchObject({
      duplicated: 1,
      lost: 0,
    });
  });

  it('finds two messages that changed places', async () => {
    const swapped = once(([a, b, ...rest]) => [b, a, ...rest]);
    expect(await run(swapped)).toMatchObject({ outOfOrder: 1 });
  });

  it('keeps producers within their head start', async () => {
    let ahead = 0;
    let most = 0;
    const open = memoryBroker((messages) => messages);
    const counting = (): Client => {
      const client = open();
      return {
        ...client,
        push: (queue, messages) => {
          most = Math.max(most, (ahead += messages.length));
          return client.push(queue, messages);
        },
        pop: async (request) => {
          const messages = await client.pop(request);
          ahead -= messages?.length ?? 0;
          return messages;
        },
      };
    };
    const result = await generateWith(counting, { ...plan, aheadMax: 30 });
    expect(result).toMatchObject({ pushed: 200, delivered: 200, lost: 0 });
    expect(most).toBeLessThanOrEqual(40); // one batch may begin at 29
  });
});

describe('the wire', () => {
  const cleanUp: (() => void)[] = [];
  afterEach(() => {
    for (const one of cleanUp.splice(0)) one();
  });

  /** A server that answers each request by what `answer` does with its socket. */
  async function serve(answer: (socket: Socket) => void) {
    const server = createServer((socket) => {
      cleanUp.push(() => socket.destroy());
      socket.on('data', () => answer(socket));
      socket.on('error', () => undefined);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    cleanUp.push(() => server.close());
    const wire = new Wire(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    cleanUp.push(() => wire.close());
    return wire;
  }

  const answers: [string, string][] = [
    ['a length', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello'],
    ['chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n'],
  ];

  it.each(answers)('reads an answer with %s, however it is cut', async (_how, whole) => {
    let cut = 0;
    const wire = await serve((socket) => {
      socket.write(whole.slice(0, cut));
      setImmediate(() => socket.write(whole.slice(cut)));
    });
    for (cut = 1; cut < whole.length; cut++) {
      expect(await wire.send('GET', '/')).toEqual({ status: 200, text: 'hello' });
    }
  });

  it('reads an answer without a body', async () => {
    const wire = await serve((socket) => socket.write('HTTP/1.1 204 No Content\r\n\r\n'));
    expect(await wire.send('GET', '/')).toEqual({ status: 204, text: '' });
  });

  it('fails when the connection ends before the answer does, and connects anew for the next', async () => {
    let breaks = true;
    const wire = await serve((socket) => {
      if (breaks) socket.end('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel');
      else socket.write(answers[0][1]);
    });
    await expect(wire.send('GET', '/')).rejects.toThrow('closed');
    breaks = false;
    expect(await wire.send('GET', '/')).toEqual({ status: 200, text: 'hello' });
  });
});
