import { median } from './report.mjs';
import { without } from './without.mjs';

const FAULTS = ['lost', 'duplicated', 'outOfOrder', 'pushErrors', 'popErrors', 'ackErrors'];

/** The medians of the runs of one subject in one row; null without a run. */
export function summaryOf(runs) {
  if (runs.length === 0) return null;
  const of = (pick) => {
    const values = runs.map(pick).filter((value) => typeof value === 'number');
    return values.length === 0 ? null : median(values);
  };
  return {
    runs: runs.length,
    perSecond: of((run) => run.ackedPerSecond || run.pushedPerSecond),
    pushedPerSecond: of((run) => run.pushedPerSecond),
    pushP50Ms: of((run) => run.pushMs.p50),
    pushP99Ms: of((run) => run.pushMs.p99),
    popP50Ms: of((run) => run.popMs?.p50),
    endToEndP50Ms: of((run) => run.endToEndMs.p50),
    endToEndP99Ms: of((run) => run.endToEndMs.p99),
    endToEndP999Ms: of((run) => run.endToEndMs.p999),
    brokerCpuMicros: of((run) => run.brokerCpuMicros),
    postgresCpuMicros: of((run) => run.postgresCpuMicros),
    serverCpuMicros: of((run) => run.serverCpuMicros),
    clientCpuMicros: of((run) => run.clientCpuMicros),
    transactionsPerMessage: of((run) => run.transactionsPerMessage),
    walBytesPerMessage: of((run) => run.walBytesPerMessage),
    rssMb: of((run) => run.rssMb),
    unread: of((run) => run.unread),
    faults: runs.reduce((sum, run) => sum + FAULTS.reduce((all, key) => all + Math.abs(run[key] ?? 0), 0), 0),
  };
}

/** Ours as a share of each other, and whether the goal was reached: null where there is none, or nobody to compare with. */
export function comparedOf(row, subjects, like) {
  const { ours } = subjects;
  if (!ours) return { shares: {}, checks: [] };
  const shares = {};
  for (const [name, other] of Object.entries(subjects)) {
    if (name !== 'ours' && other?.perSecond) shares[name] = round(ours.perSecond / other.perSecond);
  }
  const cpu = (one) => one.brokerCpuMicros + one.postgresCpuMicros;
  const cpuRatio = like ? round(cpu(ours) / cpu(like)) : null;
  return { shares, cpuRatio, checks: checksOf(row.goal ?? {}, ours, shares, cpuRatio) };
}

function checksOf(goal, ours, shares, cpuRatio) {
  const checks = [];
  const least = (what, value, wanted) => {
    if (wanted !== undefined && value !== null && value !== undefined)
      checks.push({ what, value, wanted, ok: value >= wanted });
  };
  const most = (what, value, wanted) => {
    if (wanted !== undefined && value !== null && value !== undefined)
      checks.push({ what, value, wanted, ok: value <= wanted });
  };
  least('share of the floor', shares.floor, goal.floorShare);
  least('messages a second', ours.perSecond, goal.perSecond);
  most('transactions a message', ours.transactionsPerMessage, goal.transactionsPerMessage);
  most('end to end p50, ms', ours.endToEndP50Ms, goal.endToEndP50Ms);
  most('end to end p99, ms', ours.endToEndP99Ms, goal.endToEndP99Ms);
  most('CPU a message, ratio', cpuRatio, goal.cpuRatio);
  if (goal.aheadOfPeers) {
    const [name, share] =
      Object.entries(without(shares, 'floor', 'sql')).sort(([, a], [, b]) => a - b)[0] ?? [];
    least(`share of ${name}`, share, 1);
  }
  return checks;
}

/** @param {{ row: object, subjects: Record<string, object | null>, compared: object }[]} results */
export function markdownOf(head, results, notes) {
  const names = [...new Set(results.flatMap(({ subjects }) => Object.keys(subjects)))];
  const others = names.filter((name) => name !== 'ours');
  const lines = [
    `# Matrix, ${head.date}`,
    '',
    `${head.machine}; commit ${head.commit}; medians of ${head.rounds} rounds in which all take turns; load before: ${round(head.loadBefore)}.`,
    `The machine alone: ${machineLine(head.alone)}.`,
    '',
    'Messages a second; below each, ours as a share of it (× means that ours is so many times as fast).',
    '',
    `| Work | ours | ${others.join(' | ')} | goals |`,
    `| --- | ---: | ${others.map(() => '---:').join(' | ')} | --- |`,
    ...results.map(({ row, subjects, compared }) => {
      const cells = others.map((name) => otherCell(row, subjects[name], compared.shares[name]));
      return `| ${row.title} | ${oursCell(row, subjects.ours)} | ${cells.join(' | ')} | ${goalCell(compared.checks)} |`;
    }),
    '',
    '## Cost of ours',
    '',
    '| Work | broker CPU µs | PostgreSQL CPU µs | transactions | WAL bytes | push p50 / p99 ms | end to end p50 / p99 / p99.9 ms | RSS MB | faults |',
    '| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |',
    ...results
      .filter(({ subjects }) => subjects.ours)
      .map(({ row, subjects: { ours } }) => costLine(row, ours)),
    '',
    ...notes.flatMap((note) => [`- ${note}`]),
    '',
  ];
  return lines.join('\n');
}

function costLine(row, ours) {
  const cells = [
    ours.brokerCpuMicros,
    ours.postgresCpuMicros,
    ours.transactionsPerMessage,
    ours.walBytesPerMessage,
    times(ours.pushP50Ms, ours.pushP99Ms),
    times(ours.endToEndP50Ms, ours.endToEndP99Ms, ours.endToEndP999Ms),
    ours.rssMb,
    ours.faults,
  ];
  return `| ${row.title} | ${cells.join(' | ')} |`;
}

function oursCell(row, ours) {
  if (!ours) return '';
  return row.plan.ratePerSecond && ours.endToEndP50Ms !== null
    ? `${times(ours.endToEndP50Ms, ours.endToEndP99Ms)} ms`
    : thousands(ours.perSecond);
}

function otherCell(row, other, share) {
  if (!other) return '';
  if (row.plan.ratePerSecond)
    return other.endToEndP50Ms === null ? '' : `${times(other.endToEndP50Ms, other.endToEndP99Ms)} ms`;
  return `${thousands(other.perSecond)}<br>${share >= 2 ? `${share} ×` : `${Math.round(share * 100)} %`}${other.faults > 0 ? `<br>${other.faults} faults` : ''}`;
}

function goalCell(checks) {
  return checks
    .map(({ what, value, wanted, ok }) => `${ok ? '✓' : '✗'} ${what} ${value} (${wanted})`)
    .join('<br>');
}

function machineLine({ httpRoundTripMs, selectOneMs, fsyncMs }) {
  return `HTTP round trip ${httpRoundTripMs.p50} ms, \`select 1\` ${selectOneMs.p50} ms, fsync of 8 KB ${fsyncMs.p50} ms (p50)`;
}

function times(...values) {
  return values.every((value) => value === null) ? '' : values.map((value) => value ?? '–').join(' / ');
}

const thousands = (value) => (value ?? 0).toLocaleString('en-US');
const round = (value) => Math.round(value * 100) / 100;
