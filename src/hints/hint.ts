/** What brokers tell each other. Every hint may be lost: it costs latency, never a message (G5). */
export type Hint =
  | { kind: 'dirty'; key: string; partition: string; group?: string }
  /** More partitions of the queue are dirty than fit: look at all of it. */
  | { kind: 'dirty-queue'; key: string }
  | { kind: 'configured'; key: string }
  | { kind: 'dropped'; key: string }
  | { kind: 'reconcile' }
  /** A broker has come: from now on hints are worth sending. */
  | { kind: 'hello' };

/** Wire form, short because a payload holds less than 8,000 bytes: [code, key?, partition?, group?]. */
export type HintTuple = [code: string, ...rest: string[]];

const CODES = {
  dirty: 'd',
  'dirty-queue': 'q',
  configured: 'c',
  dropped: 'x',
  reconcile: 'r',
  hello: 'h',
} as const satisfies Record<Hint['kind'], string>;

export function toTuple(hint: Hint): HintTuple {
  switch (hint.kind) {
    case 'dirty':
      return hint.group === undefined
        ? [CODES.dirty, hint.key, hint.partition]
        : [CODES.dirty, hint.key, hint.partition, hint.group];
    case 'dirty-queue':
    case 'configured':
    case 'dropped':
      return [CODES[hint.kind], hint.key];
    case 'reconcile':
    case 'hello':
      return [CODES[hint.kind]];
  }
}

/** Null for a code or shape of a newer broker: skipped, never an error. */
export function fromTuple(tuple: unknown): Hint | null {
  if (!Array.isArray(tuple) || !tuple.every((part) => typeof part === 'string')) return null;
  const [code, key, partition, group] = tuple as string[];
  if (code === CODES.reconcile) return { kind: 'reconcile' };
  if (code === CODES.hello) return { kind: 'hello' };
  if (key === undefined) return null;
  if (code === CODES.dirty && partition !== undefined) {
    return group === undefined ? { kind: 'dirty', key, partition } : { kind: 'dirty', key, partition, group };
  }
  if (code === CODES['dirty-queue']) return { kind: 'dirty-queue', key };
  if (code === CODES.configured) return { kind: 'configured', key };
  if (code === CODES.dropped) return { kind: 'dropped', key };
  return null;
}
