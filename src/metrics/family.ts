/** One metric family: what it is and where its samples come from. Read at scrape time, so that serving pays nothing. */
export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge';
  readonly labels?: readonly string[];
  /** What the values of several processes of one broker make together; a sum when not said. */
  readonly across?: Across;
  samples(): Iterable<Sample>;
}

export type Across = 'sum' | 'max' | 'min' | 'average';

export interface Sample {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

export function one(
  name: string,
  type: Family['type'],
  help: string,
  value: () => number,
  across: Across = 'sum',
): Family {
  return { name, type, help, across, samples: () => [{ value: value() }] };
}

/** A family with one label, whose values come from an object's keys: a fixed set. */
export function byLabel(
  name: string,
  type: Family['type'],
  help: string,
  label: string,
  values: () => Record<string, number>,
  across: Across = 'sum',
): Family {
  return {
    name,
    type,
    help,
    across,
    labels: [label],
    samples: () => Object.entries(values()).map(([key, value]) => ({ labels: { [label]: key }, value })),
  };
}
