import { expect } from '@jest/globals';
import fc from 'fast-check';
import type { Cursor, Model, ModelPartition } from './broker.model.js';
import { group, target } from './choices.js';
import type { Snapshot } from './snapshot.js';
import { expectUntouched, idOf, named, Step, type Target } from './step.js';

/** Who acks: the holder of the lease, nobody in particular, an earlier holder, or one who never was. */
export type Worker = 'holder' | 'none' | 'earlier' | 'stranger';

/** The cursor of a group on a partition, or while there are leases the n-th of the leased ones. */
export interface Who extends Target {
  group: string;
  worker: Worker;
  lease: number | null;
}

export const tellWho = (who: Who) =>
  `${who.lease === null ? '' : `lease ${who.lease} or `}${named(who)} of ${who.group} by ${who.worker}`;

function workerOf(model: Model, cursor: Cursor | undefined, worker: Worker): string {
  if (worker === 'none') return '';
  if (worker === 'stranger') return 'nobody';
  if (worker === 'holder') return cursor?.worker ?? '';
  return model.workers.filter((name) => name !== cursor?.worker).at(-1) ?? 'nobody';
}

export function found(model: Model, who: Who) {
  const lease = who.lease === null ? undefined : model.lease(who.lease);
  const partition = lease?.partition ?? model.partition(who.queue, who.partition);
  const groupName = lease?.group ?? who.group;
  const cursor = partition?.cursors.get(groupName);
  return {
    ...{ partition, cursor, group: groupName, id: idOf(model, partition) },
    worker: workerOf(model, cursor, who.worker),
    queue: partition?.queue ?? who.queue,
    name: partition?.name ?? who.partition,
  };
}

export function textAt(partition: ModelPartition | undefined, offset: number): string {
  return partition?.log.flatMap(({ texts }) => texts)[offset] ?? 'beyond the end';
}

/** Acks and hand-overs change all or nothing. */
export abstract class Verdict extends Step {
  private refused = false;

  constructor(protected readonly who: Who) {
    super();
  }

  /** One cursor that is not there tells as much as a hundred; strangers ask for it now and then. */
  override check(model: Readonly<Model>): boolean {
    return this.who.worker === 'stranger' || found(model as Model, this.who).cursor !== undefined;
  }

  protected expectResult(actual: Record<string, unknown>, expected: Record<string, unknown>): void {
    expect(actual).toEqual(expected);
    this.refused = expected.ok === false;
  }

  protected override look(before: Snapshot, after: Snapshot): void {
    if (this.refused) expectUntouched(before, after); // I34
  }
}

const worker = fc.oneof(
  { weight: 8, arbitrary: fc.constant<Worker>('holder') },
  { weight: 2, arbitrary: fc.constantFrom<Worker>('none', 'none', 'earlier', 'stranger') },
);
export const who: fc.Arbitrary<Who> = fc
  .record({ at: target, group, worker, lease: fc.option(fc.nat(7), { freq: 6 }) })
  .map(({ at, ...rest }) => ({ ...at, ...rest }));
