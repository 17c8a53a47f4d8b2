import type { Registry } from 'prom-client';

/** The families of one registry with their values. */
export type FamilyValues = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

/** The numbers of `GET /metrics`: seconds, counts, bytes, and microseconds of CPU. */
export interface ProcessNumbers {
  readonly uptime: number;
  readonly requests: { readonly total: number; readonly rate: number };
  readonly messages: { readonly total: number; readonly rate: number };
  readonly database: {
    readonly poolSize: number;
    readonly idleConnections: number;
    readonly waitingRequests: number;
  };
  readonly memory: {
    readonly rss: number;
    readonly heapTotal: number;
    readonly heapUsed: number;
    readonly external: number;
    readonly arrayBuffers: number;
  };
  readonly cpu: { readonly user: number; readonly system: number };
}

/** What one process counted. */
export interface ProcessMetrics {
  readonly families: FamilyValues;
  readonly numbers: ProcessNumbers;
}

/** What all processes of a broker counted together. */
export interface GroupMetrics {
  /** Prometheus text. */
  readonly exposition: string;
  readonly numbers: ProcessNumbers;
}

/** The broker processes that share a port (QUEEN_WORKERS), as one of them sees them. */
export interface WorkerGroup {
  /** Which of them this process is, from 0. */
  readonly number: number;
  /** How this process says what it counted when another one is asked for the metrics of all. */
  answerWith(own: () => Promise<ProcessMetrics>): void;
  /** What all of them counted; null where this process is the only one. */
  gather(): Promise<GroupMetrics | null>;
}

export const WORKER_GROUP = Symbol('WorkerGroup');

/** A broker of one process. */
export const ALONE: WorkerGroup = {
  number: 0,
  answerWith: () => undefined,
  gather: () => Promise.resolve(null),
};
