import { expect } from '@jest/globals';
import type fc from 'fast-check';
import type pg from 'pg';
import type { Model, ModelPartition, QueueName } from './broker.model.js';
import { breaches, regressions } from './invariants.js';
import { takeSnapshot, type Snapshot } from './snapshot.js';

export const TENANTS = ['00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000002'];

/** One session, and what its last look at the tables saw. */
export interface Real {
  readonly session: pg.Client;
  seen: Snapshot;
}

/**
 * A step of a random run: does one thing to the database and to the model, and compares. Its text names the choices it
 * was made with, so that a failure reads as a list of what to do.
 */
export abstract class Step implements fc.AsyncCommand<Model, Real> {
  /** True when the tables need no look afterwards. */
  protected readonly asksOnly: boolean = false;

  check(_model: Readonly<Model>): boolean {
    return true;
  }

  async run(model: Model, real: Real): Promise<void> {
    const before = real.seen;
    model.told.push(this.toString());
    try {
      await this.act(model, real);
      if (this.asksOnly) return;
      const after = await takeSnapshot(real.session);
      model.settle(before, after);
      expect(breaches(after)).toEqual([]);
      expect(regressions(before, after)).toEqual([]);
      this.look(before, after);
      real.seen = after;
    } catch (error) {
      throw withSteps(model, error as Error);
    }
  }

  protected abstract act(model: Model, real: Real): Promise<void>;

  /** What this kind of step promises about the rows, without asking the model. */
  protected look(_before: Snapshot, _after: Snapshot): void {}

  abstract toString(): string;
}

/** The error, with everything that was done before it. */
export function withSteps(model: Model, error: Error): Error {
  const steps = model.told.map((step, k) => `  ${k + 1}. ${step}`).join('\n');
  return new Error(`after\n${steps}\n\n${error.message}`, { cause: error });
}

export interface Target {
  queue: QueueName;
  partition: string;
}

export function named({ queue: { tenant, name }, partition }: Target): string {
  return `${tenantNumber(tenant)}:${name}/${partition}`;
}

export function queueNamed({ tenant, name }: QueueName): string {
  return `${tenantNumber(tenant)}:${name}`;
}

function tenantNumber(tenant: string): number {
  return TENANTS.indexOf(tenant) + 1;
}

const UNKNOWN_ID = 'ffffffff-ffff-4fff-8fff-ffffffffffff';

/** The partition's id as a client would hold it: also one of a deleted queue, or one that never was. */
export function idOf(model: Model, partition: ModelPartition | undefined): string {
  return partition?.id || model.goneIds.at(-1) || UNKNOWN_ID;
}

/** A refusal has changed nothing (I34). */
export function expectUntouched(before: Snapshot, after: Snapshot): void {
  expect({ ...after, now: 0 }).toEqual({ ...before, now: 0 });
}
