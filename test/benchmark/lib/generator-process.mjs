import { generate } from './generator.mjs';

/* A generator in a process of its own: node generator-process.mjs <base> <plan as JSON>. Prints one JSON line. */
const [base, plan] = process.argv.slice(2);
console.log(JSON.stringify(await generate(base, JSON.parse(plan))));
process.exit(0);
