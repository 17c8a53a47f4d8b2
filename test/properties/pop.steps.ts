import { expect } from '@jest/globals';
import fc from 'fast-check';
import { popList, popSpecific } from '../support/make.js';
import type { Model, QueueName } from './broker.model.js';
import { partitionName, queueName, target } from './choices.js';
import { claim, isPending } from './model.pop.js';
import {
  claimOf,
  maxPartitions,
  optionsOf,
  popChoice,
  tellPop,
  type FromChoice,
  type PopChoice,
} from './pop.choice.js';
import { Allowance, expectBatch, expectVerdict } from './pop.expect.js';
import { named, queueNamed, Step, type Real, type Target } from './step.js';

/** Pops of partitions that the caller names. */

class PopPartition extends Step {
  constructor(
    private readonly target: Target,
    /** While there are partitions with a backlog for the group, the n-th of them instead. */
    private readonly ripe: number | null,
    private readonly choice: PopChoice,
  ) {
    super();
  }

  protected async act(model: Model, real: Real): Promise<void> {
    const { queue, partition: name } = this.place(model);
    const how = claimOf(model, this.choice);
    const { batches } = await popSpecific(real.session, queue.name, name, optionsOf(how, queue.tenant));
    const partition = model.partition(queue, name);
    expect(batches.length).toBeLessThan(2);
    expectBatch(batches.at(0), partition ? claim(model, partition, how) : null);
  }

  private place(model: Model): Target {
    const ripe = model.partitions().filter((partition) => isPending(partition, this.choice.group));
    if (this.ripe === null || ripe.length === 0) return this.target;
    const { queue, name } = ripe[this.ripe % ripe.length];
    return { queue, partition: name };
  }

  toString(): string {
    const ripe = this.ripe === null ? '' : `backlog ${this.ripe} or `;
    return `pop ${ripe}${named(this.target)} ${tellPop(this.choice)}`;
  }
}

class PopNames extends Step {
  constructor(
    private readonly queue: QueueName,
    private readonly names: string[],
    private readonly choice: PopChoice,
    private readonly maxPartitions: number | null,
    private readonly skipWindow: boolean,
  ) {
    super();
  }

  protected async act(model: Model, real: Real): Promise<void> {
    const how = claimOf(model, this.choice, this.skipWindow);
    const options = optionsOf(how, this.queue.tenant, this.maxPartitions);
    const { batches, verdicts } = await popList(real.session, this.queue.name, this.names, options);
    if (!model.queue(this.queue)) {
      expect([batches, verdicts]).toEqual([[], []]);
      return;
    }
    const left = new Allowance(how.budget, this.maxPartitions);
    const waiting = [...batches];
    const evaluated: string[] = [];
    for (const name of new Set(this.names)) {
      if (left.spent) break;
      evaluated.push(name);
      const partition = model.partition(this.queue, name);
      const delivered = partition ? claim(model, partition, left.of(how)) : null;
      if (delivered) {
        expectBatch(waiting.shift(), delivered);
        left.take(delivered.messages.length);
      }
      const verdict = verdicts.find((one) => one.partition === name);
      expectVerdict(model, verdict, partition, delivered, how.group);
    }
    expect(waiting).toEqual([]);
    expect(verdicts.map(({ partition }) => partition)).toEqual(evaluated); // I30
  }

  toString(): string {
    const skip = this.skipWindow ? ', window skipped' : '';
    return `pop ${queueNamed(this.queue)} [${this.names.join(' ')}], partitions ${this.maxPartitions}${skip}, ${tellPop(this.choice)}`;
  }
}

export const popPartition = fc
  .tuple(target, fc.option(fc.nat(5), { freq: 4 }), popChoice)
  .map((choices) => new PopPartition(...choices));

const names = fc.array(fc.oneof({ weight: 6, arbitrary: partitionName }, fc.constant('nowhere')), {
  minLength: 1,
  maxLength: 4,
});
export const popNames = fc
  .tuple(queueName, names, popChoice, maxPartitions, fc.boolean())
  .map(([queue, list, how, max, skip]) => new PopNames(queue, list, how, max, skip));

/** A plain pop of everything, for draining. */
export function popAll(at: Target, groupName: string, count: number): Step {
  const subscription: FromChoice = { mode: 'all', from: '' };
  return new PopPartition(at, null, {
    ...{ group: groupName, budget: count, leaseSeconds: null, autoAck: false, subscription },
  });
}
