import { parser } from '@prometheus-io/lezer-promql';

export interface PromqlUse {
  /** Metrics that are selected. */
  metrics: string[];
  /** Labels that select, group or match. */
  labels: string[];
  /** Functions and aggregations. */
  functions: string[];
  /** Metrics whose samples go through rate(), increase() and the like, which only counters can. */
  rated: string[];
}

const RATES = ['rate', 'irate', 'increase'];

/** What a query uses; throws where it is no PromQL. */
export function promqlUse(query: string): PromqlUse {
  const use: PromqlUse = { metrics: [], labels: [], functions: [], rated: [] };
  const calls: { name: string; to: number }[] = [];
  parser.parse(query).iterate({
    enter({ name, type, from, to }) {
      const text = query.slice(from, to);
      if (type.isError) throw new Error(`no PromQL at character ${from}: ${query}`);
      while (calls.length > 0 && from >= calls[calls.length - 1].to) calls.pop();
      if (name === 'FunctionCall') calls.push({ name: /^\w+/.exec(text)![0], to });
      if (name === 'FunctionIdentifier' || name === 'AggregateOp') use.functions.push(text);
      if (name === 'LabelName') use.labels.push(text);
      if (name !== 'Identifier') return;
      use.metrics.push(text);
      if (calls.some((call) => RATES.includes(call.name))) use.rated.push(text);
    },
  });
  return use;
}
