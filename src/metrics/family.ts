/** One metric family: what it is and where its samples come from. Read at scrape time, so that serving pays nothing. */
export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge';
  readonly labels?: readonly string[];
  samples(): Iterable<Sample>;
}

export interface Sample {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

export function one(name: string, type: Family['type'], help: string, value: () => number): Family {
  return { name, type, help, samples: () => [{ value: value() }] };
}

/** A family with one label, whose values come from an object's keys: a fixed set. */
export function byLabel(
  name: string,
  type: Family['type'],
  help: string,
  label: string,
  values: () => Record<string, number>,
): Family {
  return {
    name,
    type,
    help,
    labels: [label],
    samples: () => Object.entries(values()).map(([key, value]) => ({ labels: { [label]: key }, value })),
  };
}
