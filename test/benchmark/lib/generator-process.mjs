import { generate } from './generator.mjs';
import { warmUpOf, whenTold } from './when-told.mjs';

/* A generator in a process of its own: node generator-process.mjs <base> <plan as JSON>. With `warmUp` it warms up first. */
const [base, json] = process.argv.slice(2);
const { warmUp, ...plan } = JSON.parse(json);
await whenTold(
  async () => warmUp && generate(base, warmUpOf(plan)),
  () => generate(base, plan),
);
