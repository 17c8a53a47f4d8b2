import readline from 'node:readline';
import { NotHere } from '../lib/foreign-server.mjs';
import { runPeer } from './run.mjs';

/*
 * One peer, up until standard input closes: node peer-process.mjs <name>. Prints one JSON line when it is up or cannot be
 * had ({ ready } or { skipped }), then one for each plan that comes in as a line of JSON ({ result } or { failed }).
 */
const name = process.argv[2];
const starting = start();
process.on('SIGTERM', () => void leave());
process.on('SIGINT', () => undefined); // whoever started this is asked as well, and closes the input
const peer = await starting;
for await (const line of readline.createInterface({ input: process.stdin }))
  say(await answerTo(JSON.parse(line)));
await leave();

async function start() {
  try {
    const adapter = await import(`./${name}.mjs`);
    const started = await adapter.start();
    say({ ready: { durability: adapter.durability, use: adapter.use } });
    return started;
  } catch (error) {
    const missing = error instanceof NotHere || error.code === 'ERR_MODULE_NOT_FOUND';
    if (!missing) console.error(error);
    const [reason] = String(error.message).split('\n');
    say({ skipped: missing ? `${reason}: npm run bench:peers:setup` : reason });
    process.exit(missing ? 0 : 1);
  }
}

/** Also in the middle of the start: the servers would outlive this process. */
async function leave() {
  await (await starting).stop();
  process.exit(0);
}

async function answerTo(plan) {
  try {
    const lane = await peer.open(plan.queue, plan);
    const result = await runPeer(lane, plan, peer.cpuMs);
    await lane.close();
    return { result };
  } catch (error) {
    return { failed: String(error?.message ?? error) };
  }
}

function say(line) {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}
