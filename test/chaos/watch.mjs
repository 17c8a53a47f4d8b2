import { setTimeout as pause } from 'node:timers/promises';

const MARKS = `select json_build_object(
  'now', (extract(epoch from clock_timestamp()) * 1000000)::bigint,
  'partitions', (select json_agg(json_build_array(p.id, q.name, p.last_offset, p.log_start, p.txns_start))
    from queen.log_partitions p join queen.queues q on q.id = p.queue_id),
  'cursors', (select json_agg(json_build_array(
      c.partition_id, c.consumer_group, c.committed, c.total_consumed,
      c.worker_id, c.batch_end, c.lease_expires_at is not null and c.lease_expires_at >= clock_timestamp()))
    from queen.log_consumers c)) as marks`;

/**
 * Writes the marks of all partitions and cursors to the history, once a second, whenever PostgreSQL answers; until
 * `state.stopped`. `state.progress` says how far everything has come.
 */
export async function watch(postgres, history, state) {
  while (!state.stopped) {
    const op = history.start('watch', {});
    try {
      const marks = await marksOf(postgres);
      state.progress = progressOf(marks);
      history.end(op, 'ok', marks);
    } catch (error) {
      history.end(op, 'unknown', { error: error.message });
    }
    await pause(1000);
  }
}

/** Grows with every message that is stored or finished. */
function progressOf({ partitions, cursors }) {
  const stored = partitions.reduce((sum, [, , last]) => sum + last, 0);
  return cursors.reduce((sum, [, , , consumed]) => sum + consumed, stored);
}

export async function marksOf(postgres) {
  const { rows } = await postgres.session((client) =>
    client.query({ text: `set statement_timeout = '5s'; ${MARKS}` }).then((results) => results.at(-1)),
  );
  const { now, partitions, cursors } = rows[0].marks;
  return { now, partitions: partitions ?? [], cursors: cursors ?? [] };
}
