import { parseArgs } from 'node:util';
import { EXTRA, MUST } from './matrix-rows.mjs';
import { PEERS } from './matrix-subjects.mjs';

const SUBJECTS = ['ours', 'floor', 'sql', ...PEERS];

/** The command line of the matrix; throws with one sentence on anything it does not know. */
export function optionsFrom(args) {
  const { values } = parseArgs({
    args,
    options: {
      rows: { type: 'string', default: 'must' },
      subjects: { type: 'string', default: SUBJECTS.join(',') },
      rounds: { type: 'string', default: '1' },
      seconds: { type: 'string' },
      bytes: { type: 'string', default: '256' },
      kind: { type: 'string', default: 'random' },
      backlog: { type: 'string', default: '1000000' },
      settings: { type: 'string', default: '' },
      suffix: { type: 'string', default: '' },
      save: { type: 'boolean', default: false },
    },
  });
  const bytes = numberOf('bytes', values.bytes);
  if (!['random', 'repetitive'].includes(values.kind)) throw new Error('--kind is random or repetitive');
  const over = {
    ...(values.seconds && { seconds: numberOf('seconds', values.seconds) }),
  };
  return {
    rows: rowsOf(values.rows).map((row) => ({
      ...row,
      plan: { bytes, kind: values.kind, ...row.plan, ...over },
    })),
    subjects: knownOf('subject', values.subjects, SUBJECTS),
    rounds: numberOf('rounds', values.rounds),
    backlog: numberOf('backlog', values.backlog),
    bytes,
    kind: values.kind,
    /** Of the broker, as NAME=value,NAME=value. */
    settings: Object.fromEntries(
      values.settings
        .split(',')
        .filter(Boolean)
        .map((one) => one.split('=')),
    ),
    suffix: values.suffix && `-${values.suffix}`,
    save: values.save,
  };
}

function rowsOf(text) {
  if (text === 'must') return MUST;
  if (text === 'extra') return EXTRA;
  const all = [...MUST, ...EXTRA];
  if (text === 'all') return all;
  const ids = knownOf(
    'row',
    text,
    all.map(({ id }) => id),
  );
  // A row that is compared with another brings that one along.
  const wanted = new Set(ids.flatMap((id) => [all.find((row) => row.id === id).like, id]));
  return all.filter(({ id }) => wanted.has(id));
}

function knownOf(what, text, known) {
  const names = text.split(',').filter(Boolean);
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) throw new Error(`no ${what} ${unknown.join(', ')}: there are ${known.join(', ')}`);
  return names;
}

function numberOf(name, text) {
  const value = Number(text);
  if (!(value > 0)) throw new Error(`--${name} is a number above 0`);
  return value;
}
