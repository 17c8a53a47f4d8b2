import { Client } from './workload/client.mjs';
import { PLAN } from './workload/plan.mjs';
import { marksOf } from './watch.mjs';
import { until } from './world.mjs';

/**
 * The end of a run: everything is healed, producers finish, spools empty, every group reads to the end of every log.
 * All waits end with the last progress, not with a time. Returns what did not come to its end, as sentences.
 */
export async function settle(world) {
  const { postgres, sides } = world;
  const stuck = [];
  const wait = async (condition, what, progress) => {
    try {
      await until(condition, what, progress);
    } catch (error) {
      stuck.push(error.message);
    }
  };
  await heal(world);
  world.draining = true;
  await world.untilReady();

  world.tell('produce', 'drain');
  const gone = { value: false };
  void world.untilGone('produce').then(() => (gone.value = true));
  await wait(
    () => gone.value,
    'the producers to finish',
    async () => lastOffsets(postgres),
  );
  for (const { name, broker } of sides) {
    let pending = 'unknown';
    const isEmpty = async () => {
      const stats = await broker.ask('/api/v1/status/buffers');
      pending = JSON.stringify(stats);
      return stats !== null && stats.pending === 0;
    };
    await wait(isEmpty, `the spool of broker ${name} to be stored`, () => pending);
  }

  world.tell('consume', 'drain');
  await seekOnceMore(world);
  let behind = [];
  const isRead = async () => {
    behind = behindOf(await marksOf(postgres));
    return behind.length === 0;
  };
  await wait(isRead, 'all groups to read everything', () => behind.join());
  if (behind.length > 0) stuck.push(...behind.map((text) => `unread: ${text}`));
  world.tell('consume', 'stop');
  await world.untilGone('consume');
  return stuck;
}

/** Whatever a fault did that could not undo itself. */
async function heal({ postgres, sides, workers }) {
  for (const { front, back } of sides) {
    front.set('pass');
    back.set('pass');
  }
  await postgres.session(async (client) => {
    await client.query('set default_transaction_read_only = off');
    const name = client.escapeIdentifier(client.database);
    await client.query(`alter database ${name} reset default_transaction_read_only`);
  });
  for (const { child } of workers) child.kill('SIGCONT');
}

/** A group that was set back ends with a seek whose outcome is known: from there on all must have come again. */
async function seekOnceMore({ targets, history, postgres }) {
  const client = new Client(targets, history);
  for (const { name: queue, groups } of PLAN.queues)
    for (const { name: group } of groups.filter(({ kind }) => kind === 'seek')) {
      const timestamp = await middleOf(postgres, queue);
      if (timestamp === null) continue;
      const isDone = async () => (await client.seek(0, group, queue, timestamp))?.success === true;
      await until(isDone, `the last seek of ${group}`);
    }
  await client.close();
}

async function middleOf(postgres, queue) {
  const { rows } = await postgres.session((client) =>
    client.query(
      `select to_char(percentile_disc(0.5) within group (order by s.created_at) at time zone 'UTC',
                      'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as middle
       from queen.log_segments s
       join queen.log_partitions p on p.id = s.partition_id
       join queen.queues q on q.id = p.queue_id
       where q.name = $1`,
      [queue],
    ),
  );
  return rows[0].middle;
}

async function lastOffsets(postgres) {
  const { partitions } = await marksOf(postgres);
  return partitions.map(([, , last]) => last).join();
}

/** Every group of the plan in every partition of its queue that it has not read to the end. */
function behindOf({ partitions, cursors }) {
  const committed = new Map(cursors.map(([id, group, at]) => [`${id} ${group}`, at]));
  return PLAN.queues.flatMap(({ name, groups }) =>
    partitions
      .filter(([, queue]) => queue === name)
      .flatMap(([id, , last]) =>
        groups
          .map((group) => ({ group: group.name, at: committed.get(`${id} ${group.name}`) ?? -1 }))
          .filter(({ at }) => at < last)
          .map(({ group, at }) => `${group} stands at ${at} of ${last} in ${id} (${name})`),
      ),
  );
}
