import http from 'node:http';

/*
 * Parks pops and keeps them parked: node parker.mjs <base> <pops> <queues>. Each has a socket of its own and polls again
 * as soon as it is answered. Prints "parked" when all have been sent; ends on SIGTERM, or with the end of its
 * input: whoever started it is gone. Answers with messages are counted
 * and printed at the end: there should be none.
 */
const [base, pops, queues] = process.argv.slice(2);
const { hostname, port } = new URL(base);
const agent = new http.Agent({ keepAlive: true, maxSockets: Infinity });
let sent = 0;
let delivered = 0;
let stopping = false;

function park(n) {
  if (stopping) return;
  const request = http.get(
    {
      hostname,
      port,
      agent,
      path: `/api/v1/pop/queue/empty-${n % Number(queues)}?consumerGroup=parked&wait=true&timeout=60000`,
    },
    (answer) => {
      if (answer.statusCode === 200) delivered++;
      answer.resume();
      answer.once('end', () => park(n));
    },
  );
  request.once('error', () => setTimeout(() => park(n), 200));
  if (++sent === Number(pops)) console.log('parked');
}

function leave() {
  stopping = true;
  console.log(`delivered ${delivered}`);
  process.exit(0);
}

process.on('SIGTERM', leave);
process.stdin.resume().once('end', leave);

let next = 0;
const timer = setInterval(() => {
  for (let i = 0; i < 100 && next < Number(pops); i++) park(next++);
  if (next >= Number(pops)) clearInterval(timer);
}, 10);
