export interface ReplayReport {
  messages: number;
  partitions: number;
  queued: number;
  groups: Record<'steady' | 'flaky', { deliveries: number; redeliveries: number }>;
  deadLetters: number;
  orderViolations: number;
  byteMismatches: number;
  missing: number;
  secondPush: Record<string, number>;
  pushedPerSecond: number;
  consumedPerSecond: number;
}

export function replay(base: string, log: (line: string) => void): Promise<ReplayReport>;
