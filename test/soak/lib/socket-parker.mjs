/*
 * Parks one pop each on the partitions [from, to) of a queue, a socket for each: node socket-parker.mjs <port> <from> <to>.
 * Prints "parked" when all are open, and a line of JSON when each has had its message. An answer without a message is asked
 * for again, as consumers do. Ends with its input: whoever started it is gone.
 */
import { once } from 'node:events';
import { connect } from 'node:net';

const [port, from, to] = process.argv.slice(2).map(Number);
/** So many connections are opened at once; more would overrun the queue of the listening socket. */
const OPENED_TOGETHER = 100;
const AGAIN_MS = 500;

const counts = { answered: 0, wrong: 0, askedAgain: 0, lostConnections: 0 };
const ended = new Set();

async function park(n) {
  const socket = connect({ port, host: '127.0.0.1' });
  let text = '';
  socket.on('data', (bytes) => {
    text += bytes;
    const length = /\r\ncontent-length: (\d+)\r\n/i.exec(text)?.[1];
    const bodyAt = text.indexOf('\r\n\r\n') + 4;
    if (bodyAt < 4 || (!text.startsWith('HTTP/1.1 204') && text.length < bodyAt + Number(length))) return;
    const answer = text;
    text = '';
    if (!answer.startsWith('HTTP/1.1 200')) {
      counts.askedAgain++;
      setTimeout(ask, AGAIN_MS);
      return;
    }
    const { messages } = JSON.parse(answer.slice(bodyAt));
    if (messages.length === 1 && messages[0].data === n) counts.answered++;
    else counts.wrong++;
    end();
    socket.destroy();
  });
  socket.on('error', () => undefined);
  socket.on('close', () => {
    if (!ended.has(n)) counts.lostConnections++;
    end();
  });
  await once(socket, 'connect').catch(() => undefined);
  ask();

  function ask() {
    const path = `/api/v1/pop/queue/crowd/partition/p${n}?consumerGroup=g&autoAck=true&wait=true&timeout=1800000`;
    socket.write(`GET ${path} HTTP/1.1\r\nHost: broker\r\n\r\n`);
  }

  function end() {
    ended.add(n);
    if (ended.size === to - from) process.stdout.write(`${JSON.stringify(counts)}\n`, () => process.exit(0));
  }
}

process.stdin.resume().once('end', () => process.exit(1));
for (let at = from; at < to; at += OPENED_TOGETHER) {
  await Promise.all(Array.from({ length: Math.min(OPENED_TOGETHER, to - at) }, (_, i) => park(at + i)));
}
console.log('parked');
