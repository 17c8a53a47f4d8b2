import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';

const require = createRequire(import.meta.url);

/**
 * Real input: every GitHub webhook payload of @octokit/webhooks-examples (partition = repository) and every row of
 * birdstrikes.csv of vega-datasets (partition = operator). transactionIds are stable, so that pushing again finds only
 * duplicates. `payload` is raw JSON text: what comes back is compared byte for byte.
 * @returns {{ queue: string, partition: string, transactionId: string, payload: string }[]}
 */
export function dataset() {
  return [...webhooks(), ...birdstrikes()];
}

function webhooks() {
  const events = JSON.parse(
    readFileSync(require.resolve('@octokit/webhooks-examples/api.github.com/index.json'), 'utf8'),
  );
  return events.flatMap(({ name, examples }) =>
    examples.map((example, i) => ({
      queue: 'github.webhooks',
      partition: example.repository?.full_name ?? 'no repository',
      transactionId: `${name}/${i}`,
      payload: JSON.stringify(example),
    })),
  );
}

function birdstrikes() {
  // The package exports no data file by name, so its folder is taken as it lies beside this one.
  const file = new URL('../../node_modules/vega-datasets/data/birdstrikes.csv', import.meta.url);
  const rows = parse(readFileSync(file, 'utf8'), { columns: true });
  return rows.map((row, i) => ({
    queue: 'faa.birdstrikes',
    partition: row['Aircraft Airline Operator'] || 'unknown operator',
    transactionId: `row-${i}`,
    payload: JSON.stringify(row),
  }));
}
