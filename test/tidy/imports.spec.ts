import { describe, expect, it } from '@jest/globals';
import { sources, type SourceFile } from './sources.js';

/*
 * Who may import whom, by top folder of src. Arrows point down and never back: writers and readers meet only in
 * PostgreSQL and in the hot-list, so that each part can be understood, tested and replaced without the others.
 */

/** Besides `base` and `segment`, which everybody may. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  // Values: base imports nothing of ours, the others only base.
  base: [],
  segment: [],
  http: [],
  // Database: raw-sql is the only way to PostgreSQL.
  'raw-sql': [],
  schema: ['raw-sql'],
  'queue-config': ['raw-sql'],
  'queue-controls': ['raw-sql'],
  encryption: ['raw-sql'],
  'embedded-postgres': [],
  // The other processes of a broker: they are told which database, and ask it nothing.
  workers: ['raw-sql'],
  // Memory: no SQL inside.
  limiter: [],
  'wake-gate': [],
  'ack-registry': [],
  // An offer must reach the ring before the gate opens, or a woken pop finds an empty ring.
  hotlist: ['wake-gate'],
};

/** What a feature may import besides; another feature never. */
const FEATURES: Record<string, readonly string[]> = {
  pop: [
    'hotlist',
    'wake-gate',
    'limiter',
    'raw-sql',
    'queue-config',
    'queue-controls',
    'encryption',
    'ack-registry',
    'http',
  ],
  push: ['hotlist', 'limiter', 'raw-sql', 'queue-config', 'queue-controls', 'encryption', 'http'],
  ack: ['hotlist', 'limiter', 'raw-sql', 'ack-registry', 'http'],
  lease: ['limiter', 'raw-sql', 'ack-registry', 'http'],
  queues: ['hotlist', 'wake-gate', 'raw-sql', 'queue-config', 'queue-controls', 'encryption', 'http'],
  health: ['raw-sql', 'limiter', 'wake-gate', 'http'],
  auth: ['http'],
  groups: ['hotlist', 'wake-gate', 'limiter', 'raw-sql', 'ack-registry', 'queue-config', 'http'],
  messages: ['limiter', 'raw-sql', 'queue-config', 'encryption', 'http'],
  'dead-letters': ['hotlist', 'limiter', 'raw-sql', 'queue-config', 'queue-controls', 'encryption', 'http'],
  traces: ['limiter', 'raw-sql', 'http'],
  resources: ['limiter', 'raw-sql', 'http'],
  status: ['limiter', 'raw-sql', 'queue-controls', 'http'],
  pause: ['hotlist', 'wake-gate', 'raw-sql', 'queue-controls', 'http'],
  maintenance: ['hotlist', 'wake-gate', 'raw-sql', 'http'],
  retention: ['hotlist', 'limiter', 'raw-sql', 'queue-config', 'http'],
  stats: ['limiter', 'raw-sql', 'http'],
  spool: ['hotlist', 'limiter', 'raw-sql', 'queue-config', 'http'],
  hints: ['hotlist', 'wake-gate', 'raw-sql', 'queue-config', 'ack-registry'],
  // Push and ack lend it their values: see below.
  transaction: [
    ...[
      'push',
      'ack',
      'hotlist',
      'limiter',
      'raw-sql',
      'queue-config',
      'queue-controls',
      'encryption',
      'ack-registry',
      'http',
    ],
  ],
};

/**
 * They look at all the others, and none of them knows it: a feature counts in fields of its own, a document is written
 * about it, and a span is put around it from outside.
 */
const OBSERVERS = ['metrics', 'tracing', 'openapi'];

const EVERYBODY_MAY = ['base', 'segment'];

/** They put the parts together, so they know all of them; nobody knows them. */
const ENTRY_POINTS = [/^main\.ts$/, /^app\.module\.ts$/, /^boot\//, /^schema\/apply\.ts$/, /^docs\//];

/** What a feature keeps to itself when it lends another its values. */
const PRIVATE = /\.(service|controller|module)\.ts$|\/flush\//;

/** Statements on a connection of their own: the schema, the probe, the embedded server. Everything else goes through raw-sql. */
const DRIVERS = ['pg', 'typeorm'];
const MAY_USE_DRIVERS = [
  ...[/^raw-sql\//, /^schema\/apply\.ts$/, /^boot\/prepare-schema\.ts$/],
  ...[/^health\/database-watch\.ts$/, /^embedded-postgres\//, /^hints\//],
];

const known: Record<string, readonly string[]> = { ...MAY_IMPORT, ...FEATURES };
const files = sources();
const parts = files.filter(({ path }) => !ENTRY_POINTS.some((entry) => entry.test(path)));

function targetModule(file: string): string {
  return file.split('/')[0];
}

function allImports(of: readonly SourceFile[]) {
  return of.flatMap((from) =>
    from.imports.flatMap(({ file, ...rest }) => (file === null ? [] : [{ from, file, ...rest }])),
  );
}

describe('imports', () => {
  it('come from folders that the table knows', () => {
    const unknown = [...new Set(parts.map(({ module }) => module))].filter(
      (module) => !(module in known) && !OBSERVERS.includes(module),
    );
    const reason =
      'a new folder needs a row in test/tidy/imports.spec.ts, or nobody has decided what it may know';
    expect({ reason, unknown }).toEqual({ reason, unknown: [] });
    expect(allImports(parts).length).toBeGreaterThan(300);
  });

  it('follow the table', () => {
    const reason =
      'an arrow that turns round makes two parts one: move what both need down to a shared folder';
    const breaches = allImports(parts)
      .filter(({ from, file }) => {
        const module = targetModule(file);
        if (module === from.module || OBSERVERS.includes(from.module)) return false;
        if (from.module === 'base') return true;
        if (from.module === 'segment') return module !== 'base';
        return !EVERYBODY_MAY.includes(module) && !known[from.module]?.includes(module);
      })
      .map(({ from, file }) => `${from.path} imports ${file}`);
    expect({ reason, breaches }).toEqual({ reason, breaches: [] });
  });

  it('never lead from one feature to another, transaction excepted', () => {
    const reason =
      'features meet in the hot-list, the ack registry and the database; pop must work without push';
    const breaches = allImports(parts)
      .filter(({ from }) => from.module in FEATURES && from.module !== 'transaction')
      .filter(({ from, file }) => targetModule(file) in FEATURES && targetModule(file) !== from.module)
      .map(({ from, file }) => `${from.path} imports ${file}`);
    expect({ reason, breaches }).toEqual({ reason, breaches: [] });
  });

  it('of transaction take values of push and ack, and leave their services alone', () => {
    const reason = 'two services that call each other share their state; values they may share';
    const breaches = allImports(parts.filter(({ module }) => module === 'transaction'))
      .filter(({ file }) => ['push', 'ack'].includes(targetModule(file)) && PRIVATE.test(file))
      .map(({ from, file }) => `${from.path} imports ${file}`);
    expect({ reason, breaches }).toEqual({ reason, breaches: [] });
  });

  it('never lead up to an entry point', () => {
    const reason = 'who puts the parts together is not one of them';
    const breaches = allImports(parts)
      .filter(({ file }) => ENTRY_POINTS.some((entry) => entry.test(file)))
      .map(({ from, file }) => `${from.path} imports ${file}`);
    expect({ reason, breaches }).toEqual({ reason, breaches: [] });
  });

  it('never reach out of src: no test code in the broker', () => {
    const reason = 'what only tests need is not shipped; what both need lives in src';
    const breaches = allImports(files)
      .filter(({ file }) => file.startsWith('..') || file.endsWith('.spec.ts'))
      .map(({ from, specifier }) => `${from.path} imports ${specifier}`);
    expect({ reason, breaches }).toEqual({ reason, breaches: [] });
  });

  it('of a database driver stand where connections are made, and nowhere else', () => {
    const reason =
      'a statement outside raw-sql has no time limit, no quarantine and no place in the pool; memory modules have none';
    const breaches = files
      .filter(({ path }) => !MAY_USE_DRIVERS.some((place) => place.test(path)))
      .filter(({ imports }) =>
        imports.some(({ specifier }) =>
          DRIVERS.some((d) => specifier === d || specifier.startsWith(`${d}-`)),
        ),
      )
      .map(({ path }) => path);
    expect({ reason, breaches }).toEqual({ reason, breaches: [] });
  });

  it('make no circle', () => {
    const reason = 'in a circle of ES modules the order of loading decides what is undefined';
    expect({ reason, circles: circles(files) }).toEqual({ reason, circles: [] });
  });

  it('name files that exist, with their extension', () => {
    const paths = new Set(files.map(({ path }) => path));
    const reason = 'a specifier without .js loads under TypeScript and fails under node';
    const breaches = allImports(files)
      .filter(({ file, specifier }) => !paths.has(file) || !specifier.endsWith('.js'))
      .map(({ from, specifier }) => `${from.path} imports ${specifier}`);
    expect({ reason, breaches }).toEqual({ reason, breaches: [] });
  });
});

/** Circles of imports that survive compilation, each as the way round. */
function circles(of: readonly SourceFile[]): string[] {
  const next = new Map(
    of.map(({ path, imports }) => [
      path,
      imports.flatMap(({ file, typeOnly }) => (file !== null && !typeOnly ? [file] : [])),
    ]),
  );
  const found: string[] = [];
  const done = new Set<string>();
  const way: string[] = [];
  const visit = (path: string) => {
    const at = way.indexOf(path);
    if (at >= 0) return void found.push([...way.slice(at), path].join(' → '));
    if (done.has(path)) return;
    way.push(path);
    for (const file of next.get(path) ?? []) visit(file);
    way.pop();
    done.add(path);
  };
  for (const { path } of of) visit(path);
  return found;
}
