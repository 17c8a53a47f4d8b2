// npm run check:supply — what this repository takes in from others, checked without a network: exact versions, a lockfile
// in step with them, no script of a package that nobody has decided about, licences that fit ours.
import { existsSync, readFileSync } from 'node:fs';
import { supplyFaults } from './rules.mjs';

const read = (path) => JSON.parse(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8'));

const INSTALLED = 'node_modules/.package-lock.json';
const installed = existsSync(new URL(`../../${INSTALLED}`, import.meta.url)) ? read(INSTALLED) : null;

const faults = supplyFaults({ manifest: read('package.json'), lock: read('package-lock.json'), installed });
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exit(1);
console.log('supply chain: exact versions, lockfile in step, no unnamed install scripts, licences fit');
