import { expect } from '@jest/globals';
import fc from 'fast-check';
import { dlqHeadCall, renewCall, scalar, TENANT } from '../support/make.js';
import type { Cursor, Model } from './broker.model.js';
import { putAside, renew } from './model.ack.js';
import { microsOf } from './push.steps.js';
import { Step, TENANTS, type Real } from './step.js';
import { found, tellWho, textAt, Verdict, who, type Who } from './who.js';

/** The second half of an ack that ends in a dead letter, and what keeps a lease alive. */

class PutAside extends Verdict {
  constructor(
    who: Who,
    private readonly ahead: number,
  ) {
    super(who);
  }

  /** A broker puts aside what it read in the log, never what is not there yet. */
  override check(model: Readonly<Model>): boolean {
    const { partition, cursor } = found(model as Model, this.who);
    const exists = !partition || !cursor || cursor.committed + this.ahead <= partition.lastOffset;
    return exists && super.check(model);
  }

  protected async act(model: Model, real: Real): Promise<void> {
    const { partition, cursor, group: groupName, id, worker } = found(model, this.who);
    const offset = (cursor?.committed ?? -1) + this.ahead;
    const text = textAt(partition, offset);
    const letter = { group: groupName, worker, text, payload: '{"a":"\\u0000"}', error: 'boom' };
    const call = dlqHeadCall(id, offset, letter);
    const { id: letterId, ...actual } = await scalar<Record<string, unknown>>(real.session, call);
    this.expectResult(actual, putAside(model, partition, { ...letter, offset }));
    expect(typeof letterId).toBe(actual.ok ? 'string' : 'undefined');
  }

  toString(): string {
    return `put aside ${tellWho(this.who)} at cursor + ${this.ahead}`;
  }
}

class Renew extends Step {
  constructor(
    private readonly who: Who,
    private readonly seconds: number | null,
    private readonly named: boolean,
    private readonly tenant: string | null,
  ) {
    super();
  }

  override check(model: Readonly<Model>): boolean {
    return (model as Model).workers.length > 0;
  }

  private answered: { renewed: number; expiresAt: string | null } = { renewed: 0, expiresAt: null };
  private renewed: Cursor[] = [];

  protected async act(model: Model, real: Real): Promise<void> {
    const { id, worker } = found(model, this.who);
    const ids = this.named ? [id] : null;
    this.answered = await scalar(real.session, renewCall(worker, this.seconds, ids, this.tenant));
    this.renewed = worker === '' ? [] : renew(model, worker, this.seconds, ids, this.tenant);
    expect(this.answered.renewed).toBe(this.renewed.length);
  }

  protected override look(): void {
    // I33 is in the model: a renewed lease ends no earlier than before. I45: the text names the earliest of them.
    const ends = this.renewed.map(({ expiresAt }) => Number(expiresAt));
    const { expiresAt } = this.answered;
    expect(expiresAt === null ? null : microsOf(expiresAt)).toBe(
      ends.length === 0 ? null : Math.min(...ends),
    );
  }

  toString(): string {
    const which = this.named ? 'only there' : 'everywhere';
    const whose = this.tenant === null ? 'any tenant' : `tenant ${TENANTS.indexOf(this.tenant) + 1}`;
    return `renew the leases of ${this.who.worker} at ${tellWho(this.who)} by ${this.seconds} s, ${which}, ${whose}`;
  }
}

export const deadLetter = fc
  .tuple(who, fc.integer({ min: 0, max: 4 }))
  .map(([by, ahead]) => new PutAside(by, ahead));

export const renewal = fc
  .tuple(
    who,
    fc.constantFrom(null, -1, 50, 150, 1050),
    fc.boolean(),
    fc.constantFrom(null, null, TENANT, TENANTS[1]),
  )
  .map(([by, seconds, here, owner]) => new Renew(by, seconds, here, owner));
