import { generateWith } from '../lib/generator.mjs';
import { warmUpOf, whenTold } from '../lib/when-told.mjs';
import { DirectClient } from './direct-client.mjs';
import { openStore } from './store.mjs';

/*
 * The leanest SQL loop: node sql-loop.mjs <plan as JSON>, with DATABASE_URL in the environment. Runs the plan without HTTP:
 * producers and consumers in this process, the same calls over a few connections of the driver.
 */
const plan = JSON.parse(process.argv[2]);
const store = await openStore(process.env.DATABASE_URL);
if (plan.backlog > 0) await store.learn(plan.queue);
await whenTold(
  () => generateWith(() => new DirectClient(store), warmUpOf(plan)),
  () => generateWith(() => new DirectClient(store), plan),
);
