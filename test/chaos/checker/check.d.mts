/** A request and its answer, see stepsOf() in history.mjs; what was asked stands beside these. */
export interface Step {
  by: string;
  do: string;
  startUs: number;
  endUs: number;
  outcome: 'ok' | 'unknown' | 'open';
  answer: unknown;
  [asked: string]: unknown;
}

export interface Final {
  queues: { id: string; name: string }[];
  partitions: {
    id: string;
    queueId: string;
    name: string;
    lastOffset: number;
    logStart: number;
    txnsStart: number;
  }[];
  entries: {
    partitionId: string;
    offset: number;
    transactionId: string | null;
    createdAt: number;
    id: string | null;
  }[];
  cursors: { partitionId: string; group: string; committed: number; worker: string | null }[];
  deadLetters: { partitionId: string; group: string; offset: number; text: string; error: string }[];
  faults: string[];
  stuck: string[];
}

export interface Violation {
  rule: string;
  text: string;
  message?: { queue: string; partition: string; transactionId: string };
  partitionId?: string;
  group?: string;
  steps: Step[];
}

export function check(
  steps: Step[],
  final: Final,
  least?: Record<string, number>,
): { violations: Violation[]; work: Record<string, number> };
