import { beforeEach, describe, expect, it } from '@jest/globals';
import { ManualClock } from '../base/clock/manual-clock.js';
import { queueKey } from '../base/queue-key.js';
import type { RawSqlService } from '../raw-sql/raw-sql.service.js';
import { Backlogs } from './backlogs.js';
import { PushAdmission } from './push-admission.js';
import type { QueueControls } from './queue-controls.service.js';

interface Control {
  pushesPaused?: boolean;
  maxSize?: number;
}

describe('whether a push may begin', () => {
  let controls: Record<string, Control>;
  let stored: number;
  let admission: PushAdmission;

  beforeEach(() => {
    controls = {};
    stored = 0;
    const known = {
      get areNone() {
        return Object.keys(controls).length === 0;
      },
      find: (key: string) => {
        const name = Object.keys(controls).find((queue) => queueKey('t', queue) === key);
        return name === undefined ? undefined : { pushesPaused: false, maxSize: 0, ...controls[name] };
      },
    } as unknown as QueueControls;
    const rawSql = { callOne: () => Promise.resolve(stored) } as unknown as RawSqlService;
    admission = new PushAdmission(known, new Backlogs(rawSql, new ManualClock()));
  });

  const admit = (counts: Record<string, number>) => admission.admit('t', new Map(Object.entries(counts)));

  it('need not be asked while no queue is paused or bounded', () => {
    expect(admission.isOpen).toBe(true);
    controls.q = { maxSize: 1 };
    expect(admission.isOpen).toBe(false);
  });

  it('is yes for queues that are neither', async () => {
    controls.other = { pushesPaused: true };
    await expect(admit({ q: 5 })).resolves.toBeDefined();
  });

  it('is no when one of the queues is paused, and then nothing is taken from the others', async () => {
    controls.bounded = { maxSize: 5 };
    controls.paused = { pushesPaused: true };
    await expect(admit({ bounded: 5, paused: 1 })).rejects.toMatchObject({
      ...{ code: 'queue_paused', status: 429, retryAfterSeconds: 1, extra: { queue: 'paused' } },
    });
    await expect(admit({ bounded: 5 })).resolves.toBeDefined();
  });

  it('goes by what the queue would hold afterwards', async () => {
    controls.q = { maxSize: 10 };
    stored = 7;
    await expect(admit({ q: 4 })).rejects.toMatchObject({
      ...{ code: 'too_many_messages', status: 429, extra: { queue: 'q', messages: 7, maxSize: 10 } },
    });
    await expect(admit({ q: 3 })).resolves.toBeDefined();
    await expect(admit({ q: 1 })).rejects.toMatchObject({ extra: { messages: 10 } });
  });

  it('never lets two in who were shown the same room', async () => {
    controls.q = { maxSize: 10 };
    const answers = await Promise.allSettled(Array.from({ length: 30 }, () => admit({ q: 3 })));
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
  });
});
