import { History } from '../history.mjs';
import { random } from '../random.mjs';
import { Client } from './client.mjs';
import { consume } from './consumer.mjs';
import { PLAN } from './plan.mjs';
import { produce } from './producer.mjs';

/*
 * A process of the workload, to be stopped and killed: node worker.mjs <settings as JSON>. Producers or consumers, some
 * of each in one process. On its input: `drain` (producers finish what they have begun and leave, consumers ack
 * everything), `stop` (consumers leave). The end of its input means that whoever started it is gone.
 */
const { name, role, seed, targets, directory, draining } = JSON.parse(process.argv[2]);
const history = new History(directory, name);
const client = new Client(targets, history);
const state = { draining, stopping: false };

process.stdin.setEncoding('utf8').on('data', (words) => {
  if (words.includes('drain')) state.draining = true;
  if (words.includes('stop')) state.draining = state.stopping = true;
});
process.stdin.once('end', () => process.exit(1));

const of = (part) => ({ client, state, name: `${name}-${part}`, dice: random(`${seed} ${name} ${part}`) });
if (role === 'produce') {
  await Promise.all([0, 1].map((n) => produce(of(n))));
} else {
  const readers = PLAN.queues.flatMap(({ name: queue, groups }) =>
    groups.map((group) => consume(of(`${queue}-${group.name}`), queue, group)),
  );
  await Promise.all(readers);
}
await client.close();
process.exit(0);
