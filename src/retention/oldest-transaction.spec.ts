import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { ManualClock } from '../base/clock/manual-clock.js';
import type { RawSqlService } from '../raw-sql/raw-sql.service.js';
import { OldestTransaction } from './oldest-transaction.js';
import type { OpenTransaction } from './retention.procedures.js';

const clock = new ManualClock();
let rows: OpenTransaction[];
let lines: string[];
let oldest: OldestTransaction;

beforeEach(() => {
  rows = [];
  lines = [];
  jest.spyOn(Logger.prototype, 'warn').mockImplementation((line: unknown) => void lines.push(String(line)));
  oldest = new OldestTransaction({ call: () => Promise.resolve(rows) } as unknown as RawSqlService, clock);
});

afterEach(() => {
  jest.restoreAllMocks();
});

const open = (seconds: number, pid: number | null = 42): OpenTransaction[] => [
  { pid, user: 'report', application: 'monthly', state: 'idle in transaction', ageMs: seconds * 1000 },
];

async function look(found: OpenTransaction[]): Promise<void> {
  rows = found;
  await oldest.look();
}

describe('the oldest transaction', () => {
  it('has no age when there is none', async () => {
    expect(oldest.ageMs).toBe(0);
    await look([]);
    expect(oldest.ageMs).toBe(0);
  });

  it('grows older between two looks, and is forgotten with the look that finds none', async () => {
    await look(open(5));
    clock.advance(2000);
    expect(oldest.ageMs).toBe(7000);
    await look([]);
    expect(oldest.ageMs).toBe(0);
  });

  it('is named in the log after a minute, and again at each doubling', async () => {
    for (const seconds of [30, 59, 61, 70, 121, 130, 200, 243, 261]) await look(open(seconds));
    expect(lines.map((line) => /for (\d+) s/.exec(line)?.[1])).toEqual(['61', '130', '261']);
    expect(lines[0]).toContain('user report (process 42, "monthly", idle in transaction)');
  });

  it('is named anew when one that was named has ended', async () => {
    for (const found of [open(61), [], open(61)]) await look(found);
    expect(lines).toHaveLength(2);
  });

  it('may be prepared and have no session', async () => {
    await look(open(90, null));
    expect(lines).toEqual([expect.stringContaining('(prepared as "monthly")')]);
  });
});
