import { pushMultiCall, run, scalar, TENANT, type PopOptions, type Pushed, type Target } from './calls.js';
import { popSpecific, type Batch } from './pops.js';
import { THIS_PARTITION } from './rows.js';

/** One place to import from: what builds a state, what calls the procedures, what reads the rows. */
export * from './calls.js';
export * from './pops.js';
export * from './rows.js';

/** `numbered('m', 3)`: m0, m1, m2. */
export function numbered(prefix: string, count: number, first = 0): string[] {
  return Array.from({ length: count }, (_, i) => `${prefix}${first + i}`);
}

/** One after the other: a connection runs one statement at a time. */
export async function inTurn<T, R>(items: readonly T[], use: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (const item of items) results.push(await use(item));
  return results;
}

/** Configures a queue (options of configure_queue_v1) and gives its id. */
export async function makeQueue(
  on: Target,
  name: string,
  options: Record<string, unknown> = {},
  tenant = TENANT,
): Promise<string> {
  const call = 'select queen.configure_queue_v1($1, $2, $3) as result';
  const { queueId } = await scalar<{ queueId: string }>(on, [call, [name, JSON.stringify(options), tenant]]);
  return queueId;
}

/** Empty partitions, created without a push; gives their ids in the order of the names. */
export async function makePartitions(
  on: Target,
  queueId: string,
  names: readonly string[],
): Promise<string[]> {
  const insert = `insert into queen.log_partitions (queue_id, name) select $1, unnest($2::text[]) returning id, name`;
  const rows = await run(on, [insert, [queueId, names]]);
  const ids = new Map(rows.map(({ id, name }) => [name as string, id as string]));
  return names.map((name) => ids.get(name)!);
}

/** One segment with these messages; the text is transactionId and payload. Gives what the procedure answered. */
export async function pushMessages(
  on: Target,
  queue: string,
  partition: string,
  texts: readonly string[],
  options: { verified?: number; tenant?: string } = {},
): Promise<Pushed> {
  const call = pushMultiCall([{ queue, partition, texts, ...options }]);
  const [verdict] = await scalar<Pushed[]>(on, call);
  return verdict;
}

/** A backlog of `segments` segments with `perSegment` messages each, m0 upwards, in one round trip. */
export async function pushBacklog(
  on: Target,
  queue: string,
  partition: string,
  segments: number,
  perSegment = 1,
): Promise<string[]> {
  const texts = numbered('m', segments * perSegment);
  const inputs = Array.from({ length: segments }, (_, k) => ({
    queue,
    partition,
    texts: texts.slice(k * perSegment, (k + 1) * perSegment),
  }));
  await run(on, pushMultiCall(inputs));
  return texts;
}

/** A leased batch; fails when there is nothing to lease. */
export async function makeLease(
  on: Target,
  queue: string,
  partition: string,
  options: PopOptions = {},
): Promise<Batch> {
  const [batch] = (await popSpecific(on, queue, partition, options)).batches;
  if (batch === undefined) throw new Error(`nothing to lease in ${queue} / ${partition}`);
  return batch;
}

/** The lease of (partition, group) ran out a second ago. */
export async function expireLease(on: Target, queue: string, partition: string, group = 'g'): Promise<void> {
  const update = `update queen.log_consumers set lease_expires_at = clock_timestamp() - interval '1 second'
    where partition_id = ${THIS_PARTITION} and consumer_group = $3 and worker_id is not null returning 1`;
  const rows = await run(on, [update, [queue, partition, group]]);
  if (rows.length !== 1) throw new Error(`no lease of ${group} on ${queue} / ${partition}`);
}

/** Moves the age of segments (and their hash rows) with base offsets from `from` to `to` by so many seconds. */
export async function ageSegments(
  on: Target,
  queue: string,
  partition: string,
  seconds: number,
  { from = 0, to = Number.MAX_SAFE_INTEGER }: { from?: number; to?: number } = {},
): Promise<void> {
  for (const table of ['log_segments', 'log_txns']) {
    const update = `update queen.${table} set created_at = created_at - make_interval(secs => $3)
      where partition_id = ${THIS_PARTITION} and base_offset between $4 and $5`;
    await run(on, [update, [queue, partition, seconds, from, to]]);
  }
}

/** What retention leaves behind: no segment and no hash row below `offset`, which must be a segment's base. */
export async function dropBelow(on: Target, queue: string, partition: string, offset: number): Promise<void> {
  for (const table of ['log_segments', 'log_txns']) {
    const remove = `delete from queen.${table} where partition_id = ${THIS_PARTITION} and end_offset < $3`;
    await run(on, [remove, [queue, partition, offset]]);
  }
  const mark = `update queen.log_partitions set log_start = $3, txns_start = $3 where id = ${THIS_PARTITION}`;
  await run(on, [mark, [queue, partition, offset]]);
}

/** The partition was last written so many seconds ago. */
export async function ageLastWrite(
  on: Target,
  queue: string,
  partition: string,
  seconds: number,
): Promise<void> {
  const update = `update queen.log_partitions set last_write_at = clock_timestamp() - make_interval(secs => $3)
    where id = ${THIS_PARTITION}`;
  await run(on, [update, [queue, partition, seconds]]);
}
