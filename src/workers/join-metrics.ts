import { AggregatorRegistry, type PrometheusContentType, type Registry } from 'prom-client';
import type { FamilyValues, ProcessMetrics, ProcessNumbers } from '../base/worker-group/worker-group.js';

/** Families of several processes as one: each says itself whether its values are summed or the largest counts. */
export function joinFamilies(all: readonly FamilyValues[]): Registry {
  return AggregatorRegistry.aggregate<PrometheusContentType>([...all]);
}

/** Everything adds up, but for the uptime: the broker is as old as its oldest process. */
export function joinNumbers(all: readonly ProcessNumbers[]): ProcessNumbers {
  const sum = (of: (numbers: ProcessNumbers) => number) => all.reduce((total, one) => total + of(one), 0);
  return {
    uptime: Math.max(0, ...all.map(({ uptime }) => uptime)),
    requests: { total: sum(({ requests }) => requests.total), rate: 0 },
    messages: { total: sum(({ messages }) => messages.total), rate: 0 },
    database: {
      poolSize: sum(({ database }) => database.poolSize),
      idleConnections: sum(({ database }) => database.idleConnections),
      waitingRequests: sum(({ database }) => database.waitingRequests),
    },
    memory: {
      rss: sum(({ memory }) => memory.rss),
      heapTotal: sum(({ memory }) => memory.heapTotal),
      heapUsed: sum(({ memory }) => memory.heapUsed),
      external: sum(({ memory }) => memory.external),
      arrayBuffers: sum(({ memory }) => memory.arrayBuffers),
    },
    cpu: { user: sum(({ cpu }) => cpu.user), system: sum(({ cpu }) => cpu.system) },
  };
}

/**
 * What remains of processes that are gone: their counts. A sum that fell with a process would look like a restart of the
 * whole broker, and every rate made from it would jump.
 */
export async function remainsOf(gone: readonly ProcessMetrics[]): Promise<ProcessMetrics> {
  const counters = gone.map(({ families }) => families.filter(({ type }) => String(type) === 'counter'));
  const { requests, messages } = joinNumbers(gone.map(({ numbers }) => numbers));
  return {
    families: await joinFamilies(counters).getMetricsAsJSON(),
    numbers: { ...joinNumbers([]), requests, messages },
  };
}
