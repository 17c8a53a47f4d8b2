import { writeFileSync } from 'node:fs';
import { comparedOf, markdownOf, summaryOf } from './lib/matrix-table.mjs';
import { machineFloor } from './lib/machine.mjs';
import { headOf } from './lib/report.mjs';
import { optionsFrom } from './matrix-options.mjs';
import { openFloor, openOurs, openPeer, PEERS } from './matrix-subjects.mjs';

/*
 * npm run bench:matrix -- [--rows must|extra|all|id,id] [--subjects ours,floor,sql,pg-boss,…] [--rounds n] [--bytes n]
 *   [--kind random|repetitive] [--backlog n] [--save]
 * The broker, the floor, the SQL loop and other queues do the same work on the same machine, in turns within each row. One
 * JSON line a run on standard output, progress on standard error, at the end a document and a table.
 */
const options = optionsFrom(process.argv.slice(2));
const subjects = [];
const head = { ...headOf('matrix'), rounds: options.rounds };
const skipped = [];
let stopping = null;
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void leave(1));
try {
  await open();
  const runs = await runAll();
  finish(runs);
  await leave(0);
} catch (error) {
  console.error(error);
  await leave(1);
}

/** Whatever happens, nobody is left running: all have a pipe from here as their standard input besides. */
function leave(code) {
  stopping ??= Promise.allSettled(subjects.map((subject) => subject.stop())).then(() => process.exit(code));
  return stopping;
}

async function open() {
  const wants = (name) => options.subjects.includes(name);
  if (wants('ours')) subjects.push(await openOurs(options));
  if (wants('floor') || wants('sql')) subjects.push(...(await openFloor()));
  if (options.rows.some(({ ours, peers }) => !ours && peers !== false)) {
    for (const name of PEERS.filter(wants)) {
      const peer = await openPeer(name);
      if (peer) subjects.push(peer);
      else skipped.push(name);
    }
  }
  for (const subject of subjects) {
    say(`${subject.name} warms up`);
    await subject.warmUp();
  }
  const { broker } = subjects.find(({ name }) => name === 'ours' || name === 'floor') ?? {};
  if (broker) head.alone = await machineFloor(broker);
}

/** By row, then by subject. Who begins changes from round to round. */
async function runAll() {
  const runs = new Map(options.rows.map((row) => [row, {}]));
  const taking = subjects.filter(({ name }) => options.subjects.includes(name));
  const total = options.rounds * options.rows.length;
  let done = 0;
  for (let round = 0; round < options.rounds; round++) {
    for (const row of options.rows) {
      say(`${++done}/${total} ${row.id}, round ${round + 1}`);
      for (let k = 0; k < taking.length; k++) {
        const subject = taking[(k + round) % taking.length];
        const result = await runOne(subject, row, round);
        if (result) (runs.get(row)[subject.name] ??= []).push(result);
      }
    }
  }
  return runs;
}

/** A peer that fails is a peer without a number, with its reason; ours and the floor end the benchmark. */
async function runOne(subject, row, round) {
  try {
    const result = await subject.run(row, round);
    if (result) {
      console.log(JSON.stringify({ row: row.id, subject: subject.name, round, ...result }));
      say(`  ${subject.name}: ${result.ackedPerSecond || result.pushedPerSecond} msgs/s`);
    }
    return result;
  } catch (error) {
    if (!PEERS.includes(subject.name)) throw error;
    skipped.push(`${subject.name} in ${row.id}: ${error.message}`);
    say(`  ${error.message}`);
    return null;
  }
}

function finish(runs) {
  const summaries = new Map();
  for (const [row, bySubject] of runs) {
    const one = {};
    for (const { name } of subjects) if (bySubject[name]) one[name] = summaryOf(bySubject[name]);
    summaries.set(row.id, one);
  }
  const results = options.rows.map((row) => {
    const bySubject = summaries.get(row.id);
    return {
      row,
      subjects: bySubject,
      compared: comparedOf(row, bySubject, row.like && summaries.get(row.like)?.ours),
    };
  });
  const { bytes, kind, backlog } = options;
  const peers = subjects
    .filter(({ durability }) => durability)
    .map(({ name, durability, use }) => ({ name, durability, use }));
  const document = {
    ...head,
    bytes,
    kind,
    backlog,
    peers,
    skipped,
    results: results.map(({ row, ...rest }) => ({ row: row.id, ...rest })),
  };
  const notes = [
    `bodies of ${bytes} bytes, ${kind} JSON; a long backlog is ${backlog.toLocaleString('en-US')} messages`,
    ...peers.map(({ name, durability, use }) => `${name}: ${durability}; ${use}`),
    ...skipped.map((one) => `not measured: ${one}`),
  ];
  const table = markdownOf(head, results, notes);
  const text = JSON.stringify(document, null, 2);
  console.log(text);
  console.log(table);
  if (!options.save) return;
  const name = `${head.date}-matrix${options.suffix}`;
  writeFileSync(new URL(`results/${name}.json`, import.meta.url), `${text}\n`);
  writeFileSync(new URL(`results/${name}.md`, import.meta.url), table);
}

function say(line) {
  console.error(line);
}
