import { expect } from '@jest/globals';
import { ackAll } from './ack.steps.js';
import { stored, type Model } from './broker.model.js';
import { popAll } from './pop.steps.js';
import { withSteps, type Real, type Step } from './step.js';
import { expireNth, release } from './world.steps.js';

const BATCH = 20;

/**
 * The end of every run: leases run out, and every group that ever came reads on until there is nothing left.
 * I17, I18: it then has got exactly what was retained above its cursor, each message once and in order.
 */
export async function drain(model: Model, real: Real): Promise<void> {
  for (const queue of model.queues.values()) await release(queue).run(model, real);
  for (let lease = 0; lease < model.held().length; lease++) await expireNth(lease).run(model, real);
  for (const partition of model.partitions()) {
    const at = { queue: partition.queue, partition: partition.name };
    for (const [group, cursor] of partition.cursors) {
      const due = stored(partition).filter(({ offset }) => offset > cursor.committed);
      const steps = Math.ceil(due.length / BATCH);
      for (let k = 0; k < steps; k++) {
        await each([popAll(at, group, BATCH), ackAll(at, group)], model, real);
      }
      await popAll(at, group, BATCH).run(model, real);
      try {
        expect(cursor.committed).toBe(partition.lastOffset);
        expect(model.isLeased(cursor)).toBe(false);
      } catch (error) {
        throw withSteps(model, error as Error);
      }
    }
  }
}

async function each(steps: readonly Step[], model: Model, real: Real): Promise<void> {
  for (const step of steps) await step.run(model, real);
}
